// `sonde keys rotate-master`: seals everything anew under the current master key, while the service
// runs.
import type { ParsedOptions } from "./arguments.ts";
import type { Store } from "../store/store.ts";

export async function rotateMaster(
  store: Store,
  _options: ParsedOptions,
  { print }: { readonly print: (text: string) => void },
): Promise<void> {
  await store.masterKeys.claim();
  await store.masterKeys.rotate(({ what, checked, resealed }) =>
    print(`${what}: ${checked} checked, ${resealed} encrypted anew\n`),
  );
  print(
    "everything is encrypted with the current master key: SONDE_MASTER_KEYS_OLD is not needed any more\n",
  );
}
