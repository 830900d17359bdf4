#!/usr/bin/env bash
# Builds the image of a release and tests it: starts the demo as docs/deployment.md says, reads a
# result, and stops it. Needs docker or podman.
#
#   deploy/build-image.sh [option of the build …]
#
#   CONTAINER_TOOL   docker or podman; default: whichever is installed
#   IMAGE            name and tag; default: sonde:<version of package.json>
#   RUN_OPTIONS      further options of the trial run, for example --network=host
#
# For a release, pin the base: deploy/build-image.sh --build-arg NODE_IMAGE=…@sha256:…
set -euo pipefail
cd "$(dirname "$0")/.."

tool=${CONTAINER_TOOL:-$(command -v docker || command -v podman || true)}
if [ -z "$tool" ]; then
  echo "build-image: neither docker nor podman is installed: install one, or set CONTAINER_TOOL" >&2
  exit 1
fi
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
image=${IMAGE:-sonde:$version}

# Podman's own format has no health check.
format=()
if [ "$(basename "$tool")" = podman ]; then format=(--format docker); fi
"$tool" build "${format[@]}" --file deploy/Dockerfile --build-arg "VERSION=$version" --tag "$image" "$@" .

echo "Trying $image"
# Word splitting is wanted: RUN_OPTIONS holds several options.
# shellcheck disable=SC2086
container=$("$tool" run --detach --read-only --cap-drop ALL --security-opt no-new-privileges \
  ${RUN_OPTIONS:-} "$image" serve --demo)
trap '"$tool" rm --force --volumes "$container" >/dev/null' EXIT

if ! "$tool" exec --interactive "$container" node --input-type=module - <deploy/read-a-result.mjs; then
  "$tool" logs "$container" >&2
  exit 1
fi
"$tool" exec "$container" node dist/main.js health

"$tool" stop --time 30 "$container" >/dev/null
code=$("$tool" inspect --format '{{.State.ExitCode}}' "$container")
if [ "$code" != 0 ]; then
  "$tool" logs "$container" >&2
  echo "build-image: the container ended with exit code $code, not with 0" >&2
  exit 1
fi
echo "$image is good"
