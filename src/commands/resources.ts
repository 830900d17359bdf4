// `sonde calls`, `workflows`, `deployments`, `auth`, `tokens` and `reports`: list, get, create,
// update and delete, over the API. What differs between them is data: client/resource-kinds.ts.
import type { Command } from "commander";
import type { Api, Json } from "../client/api.ts";
import { describe, fieldOf, textOf, withField } from "../client/fields.ts";
import { findObject } from "../client/find-object.ts";
import { helpOn } from "../client/resource-kind.ts";
import type { BodyField, ResourceKind } from "../client/resource-kind.ts";
import { KINDS } from "../client/resource-kinds.ts";
import { harmless, harmlessJson } from "../client/text.ts";
import { invalid } from "../model/errors.ts";
import { addApiOptions, addListOptions, openApi } from "./api-client.ts";
import type { ApiOptions, ListOptions } from "./api-client.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { readJsonFile } from "./input.ts";
import { printList, printObject } from "./output.ts";
import { addRunOf, isRunnable } from "./run.ts";

type Values = Readonly<Record<string, string | readonly string[] | undefined>>;
type WriteOptions = ApiOptions & { readonly file?: string };

export function addResourceCommands(program: Command, context: Context): void {
  for (const kind of Object.values(KINDS)) {
    const group = program.command(kind.name).description(kind.description);
    addList(group, context, kind);
    addGet(group, context, kind);
    addCreate(group, context, kind);
    addUpdate(group, context, kind);
    if (isRunnable(kind.name)) addRunOf(group, context, kind.name);
    addDelete(group, context, kind);
  }
}

function addList(group: Command, context: Context, kind: ResourceKind): void {
  const list = group.command("list").description(`List the ${plural(kind)} that you may read.`);
  for (const { flags, description } of kind.filters) list.option(flags, description);
  const [first] = kind.filters;
  const filter = `${first?.flags.replace(/ <.*/, "")} ${first?.keeps ? "shop" : "ID"}`;
  addListOptions(list)
    .addHelpText(
      "after",
      examples(`sonde ${kind.name} list`, `sonde ${kind.name} list ${filter} --json`),
    )
    .action((options: ListOptions) => listKind(context, kind, options));
}

async function listKind(context: Context, kind: ResourceKind, options: ListOptions) {
  const api = openApi(context, options);
  const values = options as unknown as Values;
  const given = kind.filters.filter(({ flags }) => values[nameOf(flags)] !== undefined);
  let { path } = kind;
  let query: Record<string, string> = {};
  // The list at a path accepts no other filter.
  const listed = given.filter((filter) => !filter.keeps);
  if (listed.length > 1 && listed.some((filter) => filter.path))
    throw invalid(`${listed.map(({ flags }) => flags).join(" and ")} cannot be combined`);
  for (const { flags, names, ...filter } of given) {
    const value = String(values[nameOf(flags)]);
    if (filter.path) path = filter.path(names ? (await findObject(api, [names], value)).id : value);
    if (filter.query) query = { ...query, [filter.query]: value };
  }
  const keeps = (object: Json): boolean =>
    given.every((filter) => filter.keeps?.(object, String(values[nameOf(filter.flags)])) ?? true);
  const { limit } = options;
  const wanted = { limit: given.some((filter) => filter.keeps) ? 1000 : limit + 1 };
  await printList(context, filtered(api.list(path, query, wanted), keeps), options, {
    columns: kind.columns,
    noun: plural(kind),
    ...(kind.name === "deployments" && { explain: (items) => withTargets(api, items) }),
  });
}

async function* filtered(items: AsyncIterable<Json>, keeps: (item: Json) => boolean) {
  for await (const item of items) if (keeps(item)) yield item;
}

/** Adds the names of what deployments run, where the caller may read them. */
async function withTargets(api: Api, deployments: readonly Json[]): Promise<readonly Json[]> {
  const names = new Map<unknown, string>();
  for (const { path } of [KINDS.calls, KINDS.workflows])
    for await (const object of api.list(path, {}, { limit: 1000 }))
      names.set(object["id"], String(fieldOf(object, "meta.name")));
  return deployments.map((deployment) => {
    const id = String(fieldOf(deployment, "deployment.target_id"));
    return { ...deployment, target: names.get(id) ?? id };
  });
}

function addGet(group: Command, context: Context, kind: ResourceKind): void {
  addApiOptions(
    group
      .command("get")
      .description(`Show ${single(kind)}.`)
      .argument(argumentOf(kind), idOf(kind)),
    "print it as JSON",
  )
    .addHelpText("after", examples(`sonde ${kind.name} get ${exampleOf(kind)} --json`))
    .action(async (given: string, options: ApiOptions) => {
      const { object } = await findObject(openApi(context, options), [kind.name], given);
      if (options.json) printObject(context, object);
      else context.print(describe(object));
    });
}

function addCreate(group: Command, context: Context, kind: ResourceKind): void {
  addBodyOptions(group.command("create").description(`Create ${single(kind)}.`), kind)
    .addHelpText(
      "after",
      examples(
        `sonde ${kind.name} create ${kind.example}`,
        `sonde ${kind.name} get ${exampleOf(kind)} --json | sonde ${kind.name} create --file -`,
      ),
    )
    .action(async (options: WriteOptions) => {
      const api = openApi(context, options);
      const body = await bodyOf(api, kind, options);
      const whole = withDefaults(kind, body);
      report(context, kind, "created", await api.send("POST", kind.path, { body: whole }), options);
    });
}

function addUpdate(group: Command, context: Context, kind: ResourceKind): void {
  const update = group
    .command("update")
    .description(`Change ${single(kind)}; fields not given stay as they are.`)
    .argument(argumentOf(kind), idOf(kind));
  const example = kind.isNamed ? "--name 'Shop, old'" : "--file change.json";
  addBodyOptions(update, kind)
    .addHelpText("after", examples(`sonde ${kind.name} update ${exampleOf(kind)} ${example}`))
    .action(async (given: string, options: WriteOptions) => {
      const api = openApi(context, options);
      const change = await bodyOf(api, kind, options);
      const { id, object } = await findObject(api, [kind.name], given);
      const body = withRequired(kind, change, object);
      report(
        context,
        kind,
        "changed",
        await api.send("PUT", `${kind.path}${id}/`, { body }),
        options,
      );
    });
}

function addDelete(group: Command, context: Context, kind: ResourceKind): void {
  addApiOptions(
    group
      .command("delete")
      .description(`Delete ${plural(kind)}; this cannot be undone.`)
      .argument(argumentOf(kind).replace(">", "...>"), idOf(kind)),
    "print each as one line of JSON",
  )
    .addHelpText("after", examples(`sonde ${kind.name} delete ${exampleOf(kind)}`))
    .action(async (all: readonly string[], options: ApiOptions) => {
      const api = openApi(context, options);
      // Looks up all names first: a wrong one deletes nothing.
      const found = [];
      for (const given of all) found.push(await findObject(api, [kind.name], given));
      for (const { id, object } of found) {
        await api.send("DELETE", `${kind.path}${id}/`);
        if (options.json) context.print(`${harmlessJson(object)}\n`);
        else context.print(`deleted ${labelOf(kind, object)}\n`);
      }
    });
}

function addBodyOptions(command: Command, kind: ResourceKind): Command {
  const collect = (value: string, before: readonly string[] = []): readonly string[] => [
    ...before,
    value,
  ];
  for (const field of kind.fields) {
    const { flags, repeats } = field;
    const help = helpOn(field, command.name() === "update");
    if (repeats) command.option(flags, help, collect);
    else command.option(flags, help);
  }
  command.option("--file <file>", "a JSON object with any of the fields; -: stdin");
  return addApiOptions(command, "print the outcome as JSON");
}

/** Returns the file's object, if any, overridden by the options. Rejects if neither is given. */
async function bodyOf(api: Api, kind: ResourceKind, options: WriteOptions): Promise<Json> {
  // The file may be an object as `get` prints it; the API sets the id.
  const { id: _id, ...given } = options.file === undefined ? {} : await readJsonFile(options.file);
  const values = options as unknown as Values;
  const fields = kind.fields.filter(({ flags }) => values[nameOf(flags)] !== undefined);
  if (fields.length === 0 && options.file === undefined)
    throw invalid(
      `no fields given: use --file, or ${kind.fields.map(({ flags }) => flags.split(" ")[0]).join(", ")}`,
    );
  let body: Json = given;
  for (const field of fields) {
    const value = values[nameOf(field.flags)];
    body = withField(body, field.path, await valueOf(api, field, value));
  }
  return body;
}

const withDefaults = ({ fields }: ResourceKind, body: Json): Json =>
  fields
    .filter(({ path, otherwise }) => otherwise !== undefined && fieldOf(body, path) === undefined)
    .reduce((whole, { path, otherwise }) => withField(whole, path, otherwise), body);

const withRequired = ({ always }: ResourceKind, change: Json, object: Json): Json =>
  always === undefined || fieldOf(change, always) !== undefined
    ? change
    : withField(change, always, fieldOf(object, always));

async function valueOf(api: Api, field: BodyField, value: string | readonly string[] | undefined) {
  const one = async (text: string): Promise<unknown> => {
    if (field.clears && text === "") return null;
    if (field.names) return (await findObject(api, field.names, text)).id;
    return field.read ? field.read(text) : text;
  };
  return typeof value === "object" ? Promise.all(value.map(one)) : one(value ?? "");
}

function report(
  context: Context,
  kind: ResourceKind,
  done: "created" | "changed",
  object: Json,
  { json }: ApiOptions,
): void {
  if (json) printObject(context, object);
  else context.print(`${done} ${labelOf(kind, object)}\n`);
}

const labelOf = ({ one }: ResourceKind, object: Json): string => {
  const name = textOf(object, "meta.name");
  return `${one} ${textOf(object, "id")}${name === null ? "" : ` (${harmless(name)})`}`;
};

/**
 * Returns the name under which the library stores the option: `runDelay` for `--run-delay
 * <seconds>`.
 */
const nameOf = (flags: string): string =>
  flags
    .replace(/^--([\w-]+).*$/, "$1")
    .replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

const plural = ({ one }: ResourceKind): string => `${one}s`;
const single = ({ one }: ResourceKind): string => `${one.startsWith("a") ? "an" : "a"} ${one}`;
const argumentOf = ({ one }: ResourceKind): string => `<${one.split(" ").at(-1)}>`;
const idOf = ({ isNamed }: ResourceKind): string => (isNamed ? "its id, or its name" : "its id");
const exampleOf = ({ isNamed, name }: ResourceKind): string =>
  isNamed ? (name === "calls" ? "Shop" : "NAME") : "ID";
