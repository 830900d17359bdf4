#!/bin/sh
# Migrates the schema, adds the locations that do not exist yet, and writes the credentials of their
# agents and the configuration of NATS.
set -eu
umask 077

# This script writes that file.
unset SONDE_NATS_NKEY_FILE

sonde() {
  node /app/dist/main.js "$@"
}

sonde migrate

add_location() { # id, label, region
  if ! sonde locations list | grep -qF "\"id\":\"$1\""; then
    sonde locations add "$1" --label "$2" --region "$3" >/dev/null
  fi
  sonde locations env "$1" --out "/volumes/location-$1"
}
add_location paris Paris Europe
add_location tokyo Tokyo Asia

nats=/volumes/nats-config
sonde locations nats-config --out /run/sonde
mv /run/sonde/accounts.conf $nats/accounts.conf
sed "s/CLUSTER_PASSWORD/$(cat $nats/cluster-password)/" /compose/nats.conf >$nats/nats.conf
