// The data folder: whether the service can use it, and no one else can read its files.
import { access, constants, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { shellWord } from "../model/shell-word.ts";
import { codeOrText } from "../runtime/error-code.ts";
import type { Check } from "./check.ts";
import type { Finding } from "./finding.ts";
import { failure, ok, warning } from "./finding.ts";
import { isShared, octal } from "./permissions.ts";
import type { Sources } from "./sources.ts";

export const dataFolderCheck = ({ config: { dataDir } }: Sources): Check => ({
  name: "data folder",
  needs: ["dataDir"],
  async run() {
    const folder = await readFolder(dataDir);
    if (typeof folder !== "string") return folderFindings(folder, process.getuid?.());
    if (folder === "ENOENT")
      return [
        warning(
          `the data folder ${dataDir} does not exist`,
          "start `sonde serve`, which creates it, or correct SONDE_DATA_DIR",
        ),
      ];
    if (folder === "ENOTDIR")
      return [
        failure(
          `the data folder ${dataDir} is not a folder`,
          "remove it, or correct SONDE_DATA_DIR",
        ),
      ];
    return [
      failure(
        `this user cannot use the data folder ${dataDir} (${folder})`,
        "run `sonde doctor` as the user of the service, give the folder to that user, or correct SONDE_DATA_DIR",
      ),
    ];
  },
});

interface FileFacts {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
}

interface FolderFacts extends FileFacts {
  readonly files: readonly FileFacts[];
}

/** Returns the code of the error if the folder cannot be used. */
async function readFolder(path: string): Promise<FolderFacts | string> {
  try {
    const { mode, uid } = await stat(path);
    const all = await readdir(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    const names = all.filter((name) => OURS.test(name)).toSorted();
    const files = await Promise.all(
      names.map(async (name) => {
        // A log of the database may disappear meanwhile.
        const found = await stat(join(path, name)).catch(() => undefined);
        return found ? [{ path: join(path, name), mode: found.mode, uid: found.uid }] : [];
      }),
    );
    return { path, mode, uid, files: files.flat() };
  } catch (cause) {
    return codeOrText(cause);
  }
}

const OURS = /^(?:.*\.db(?:-wal|-shm)?|.*-key|agent-id.*|.*\.lock|.*\.nk)$/;
const KEYS = /-key$|\.nk$/;

/** `user`: the id of the user of this process. */
export function folderFindings(folder: FolderFacts, user: number | undefined): Finding[] {
  const { path, mode, files } = folder;
  const found: Finding[] = [];
  const isOfPod = isVolumeOfPod(folder);
  const uid = isOfPod ? user : folder.uid;
  if (isShared(mode) && !isOfPod)
    found.push(
      warning(
        `other users of this machine can access the data folder ${path} (mode ${octal(mode)}; allowed: 0700)`,
        `chmod 0700 ${shellWord(path)}`,
      ),
    );
  for (const file of files.filter((each) => isShared(each.mode)))
    found.push(
      (KEYS.test(file.path) ? failure : warning)(
        `other users can read or change ${file.path} (mode ${octal(file.mode)}; allowed: 0600)`,
        `chmod 0600 ${shellWord(file.path)}`,
      ),
    );
  for (const file of files.filter((each) => each.uid !== uid))
    found.push(
      failure(
        `${file.path} belongs to user ${file.uid}, and the data folder to user ${uid}: the service cannot use the file`,
        `chown ${uid} ${shellWord(file.path)}; run the commands of Sonde as the user of the service`,
      ),
    );
  return found.length > 0 ? found : [ok(`${path} is private to its user, and usable`)];
}

/**
 * Whether Kubernetes gave the folder to the group of a pod (`fsGroup`): it stays root's, gets the
 * set-group-ID bit, and no one else is in the pod.
 */
const isVolumeOfPod = ({ mode, uid }: FileFacts): boolean => uid === 0 && (mode & 0o2000) !== 0;
