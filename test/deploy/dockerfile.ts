// Reads a Dockerfile: its stages, and the words and flags of each instruction.

export interface Instruction {
  /** In upper case. */
  readonly name: string;
  /** For example, `from` of `COPY --from=build`. */
  readonly flags: Readonly<Record<string, string>>;
  /** The text after the flags. */
  readonly rest: string;
}

export interface Stage {
  /** The name by which `COPY --from` refers to it. */
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

/** Understands comments, continued lines and flags, but no heredocs, and variables only in FROM. */
export function readDockerfile(text: string): readonly Stage[] {
  const stages: { name: string | undefined; instructions: Instruction[] }[] = [];
  for (const instruction of instructionsIn(text)) {
    if (instruction.name === "FROM")
      stages.push({ name: / AS (\S+)$/i.exec(instruction.rest)?.[1], instructions: [] });
    else stages.at(-1)?.instructions.push(instruction);
  }
  return stages;
}

function instructionsIn(text: string): Instruction[] {
  const code = text.replaceAll(/^\s*#.*\n/gm, "").replaceAll(/\\\n\s*/g, "");
  return code
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, name = "", flags = "", rest = ""] =
        /^(\S+)\s+((?:--\S+\s+)*)(.*)$/.exec(line.trim()) ?? [];
      const pairs = [...flags.matchAll(/--([^=\s]+)=(\S+)/g)].map(([, key, value]) => [key, value]);
      return { name: name.toUpperCase(), flags: Object.fromEntries(pairs), rest };
    });
}

/** Returns the default of an ARG before the first FROM. */
export function argumentDefault(text: string, name: string): string | undefined {
  const before = text.slice(0, text.search(/^FROM /m));
  return new RegExp(`^ARG ${name}=(.*)$`, "m").exec(before)?.[1];
}

/** Returns the last instruction of that name, which is the one that counts. */
export function lastOf({ instructions }: Stage, name: string): Instruction {
  const found = instructions.findLast((instruction) => instruction.name === name);
  if (!found) throw new Error(`the Dockerfile's last stage has no ${name}`);
  return found;
}

/** Returns the words of an instruction in exec form: `CMD ["a", "b"]`. */
export const execForm = ({ rest }: Instruction): readonly string[] =>
  JSON.parse(rest.slice(rest.indexOf("["))) as string[];

/** Returns what ENV sets: `A=1 B=2`, without quotes. */
export const environmentOf = ({ instructions }: Stage): Record<string, string> =>
  Object.fromEntries(
    instructions
      .filter(({ name }) => name === "ENV")
      .flatMap(({ rest }) => rest.split(/\s+/).map((pair) => pair.split("=", 2))),
  );
