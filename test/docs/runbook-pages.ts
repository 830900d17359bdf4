// Parses the pages of docs/runbooks/: sections, blocks of commands, and the names they mention.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const FOLDER = "docs/runbooks";

export interface Block {
  /** The level 2 heading above it. */
  readonly section: string;
  /**
   * The text after the language: `systemd`, `exits 0 to 2`; if empty, it runs anywhere and exits
   * with 0.
   */
  readonly mark: string;
  readonly text: string;
}

export interface Page {
  /** Without `.md`. */
  readonly name: string;
  readonly text: string;
  readonly sections: readonly string[];
  /** Blocks of shell commands. */
  readonly blocks: readonly Block[];
}

export const readPages = (): Page[] =>
  readdirSync(FOLDER)
    .filter((file) => file.endsWith(".md"))
    .map((file) => pageOf(file.slice(0, -3), readFileSync(join(FOLDER, file), "utf8")));

export const readmeOf = (pages: readonly Page[]): Page =>
  pages.find(({ name }) => name === "README") as Page;

export const isOfAlert = ({ name }: Page): boolean => name.startsWith("Sonde");

/** Returns the README's definitions that are the same everywhere. */
export const setupOf = ({ blocks }: Page): string =>
  blocks
    .filter(({ mark }) => mark === "setup")
    .map(({ text }) => text)
    .join("\n");

function pageOf(name: string, text: string): Page {
  const blocks: Block[] = [];
  const sections: string[] = [];
  let open: { mark: string; lines: string[] } | undefined;
  for (const line of text.split("\n")) {
    const fence = /^```(\w*) *(.*)$/.exec(line);
    if (open && fence) {
      const section = sections.at(-1) ?? "";
      if (open.mark !== "text")
        blocks.push({ section, mark: open.mark, text: open.lines.join("\n") });
      open = undefined;
    } else if (open) open.lines.push(line);
    else if (fence) open = { mark: fence[1] === "sh" ? (fence[2] ?? "") : "text", lines: [] };
    else if (line.startsWith("## ")) sections.push(line.slice(3));
  }
  return { name, text, sections, blocks };
}

/**
 * Returns the exit codes that the page allows; undefined if the block is for other machines than
 * the tests'.
 */
export function exitCodesOf({ mark }: Block): readonly number[] | undefined {
  const [, from, to] = /^exits (\d) to (\d)$/.exec(mark) ?? [];
  if (from !== undefined && to !== undefined)
    return Array.from({ length: Number(to) - Number(from) + 1 }, (_, n) => Number(from) + n);
  return mark === "" ? [0] : undefined;
}

/** Returns the program's commands in shell text, each from the word after `sonde` to its end. */
export const sondeCommandsIn = (shell: string): string[] =>
  [
    ...shell
      .replaceAll("\\\n", " ")
      .matchAll(/(?:^|[|;&(]) *sonde +((?:"[^"]*"|'[^']*'|[^|;&#\n"'])+)/gm),
  ].map(([, words = ""]) => words.trim());

/** Returns `sonde …` in running text, where it may be a group, such as `sonde calls`. */
export const sondeMentionsIn = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/`sonde ([a-z][^`]*)`/g)].map(([, words = ""]) =>
    words.replaceAll(/\s+/g, " "),
  );

/** Returns names of metrics; one that ends in `_` is the prefix of several, in a pattern. */
export const metricsIn = (text: string): string[] => [
  ...new Set(text.match(/(?<![\w:])(?:sonde|probe|nodejs|process)_[a-z0-9_]+(?![\w:])/g) ?? []),
];

/** Returns the names that recording rules give. */
export const recordedIn = (text: string): string[] => [
  ...new Set(text.match(/\b[a-z]+:[a-z_]+:[a-z0-9_]+\b/g) ?? []),
];

/** Returns the variables of the shell that it reads and does not set itself. */
export function variablesIn(shell: string): string[] {
  const own: readonly string[] = shell.match(/\b[A-Z][A-Z_]*(?==)/g) ?? [];
  const read = shell.match(/(?<=\$\{?)[A-Z][A-Z_]*/g) ?? [];
  return [...new Set(read)].filter((name) => !own.includes(name));
}

/** Returns links as `file#heading`, relative to the page. */
export const linksIn = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = ""]) => link);

/** Returns the anchors that GitHub makes of the headings. */
export const anchorsIn = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

const withoutBlocks = (text: string): string => text.replaceAll(/^```[\s\S]*?^```$/gm, "");
