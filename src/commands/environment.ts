// `sonde env`: the environment variables of calls, by workspace, over the API.
import type { Command } from "commander";
import { pathOf } from "../client/api.ts";
import { column, numberColumn } from "../client/columns.ts";
import { textOf } from "../client/fields.ts";
import { addApiOptions, addListOptions, openApi } from "./api-client.ts";
import type { ApiOptions, ListOptions } from "./api-client.ts";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";
import { readStdin } from "./input.ts";
import { fitForOutput, printList, printObject } from "./output.ts";

const WORKSPACES = [
  column("WORKSPACE", "workspace", { shrinks: true }),
  numberColumn("VARIABLES", "variables"),
];
const VARIABLES = [
  column("NAME", "workspace_variable.name"),
  column("VALUE", "workspace_variable.value", { shrinks: true }),
  column("UPDATED", "meta.updated"),
];

export function addEnvironmentCommands(program: Command, context: Context): void {
  const env = program.command("env").description("Variables for calls, by workspace.");
  addListOptions(
    env
      .command("list")
      .description("List the workspaces, or the variables of one.")
      .argument("[workspace]", "list the variables of this one"),
  )
    .addHelpText("after", examples("sonde env list", "sonde env list staging"))
    .action((workspace: string | undefined, options: ListOptions) => {
      const path = workspace === undefined ? "/environment/" : pathOf`/environment/${workspace}`;
      const items = openApi(context, options).list(path, {}, { limit: options.limit + 1 });
      return printList(context, items, options, {
        columns: workspace === undefined ? WORKSPACES : VARIABLES,
        noun: workspace === undefined ? "workspaces" : "variables",
      });
    });
  variableCommand(
    env,
    "get",
    "Print the value of a variable.",
    "sonde env get staging HOST",
  ).action(async (workspace: string, name: string, options: ApiOptions) => {
    const found = await openApi(context, options).get(pathOf`/environment/${workspace}/${name}`);
    if (options.json) printObject(context, found);
    else context.print(`${fitForOutput(textOf(found, "workspace_variable.value") ?? "")}\n`);
  });
  addChanges(env, context);
}

function addChanges(env: Command, context: Context): void {
  variableCommand(
    env,
    "set",
    "Set a variable, creating its workspace if it does not exist.",
    "sonde env set staging HOST shop.example",
    "sonde env set staging SECRET - < secret.txt",
  )
    .argument("<value>", "its value; -: from stdin")
    .action(async (workspace: string, name: string, given: string, options: ApiOptions) => {
      const value = given === "-" ? (await readStdin()).replace(/\r?\n$/, "") : given;
      const path = pathOf`/environment/${workspace}/${name}`;
      const set = await openApi(context, options).send("POST", path, { body: { value } });
      if (options.json) printObject(context, set);
      else context.print(`set ${name} of ${workspace}\n`);
    });
  variableCommand(env, "delete", "Delete a variable.", "sonde env delete staging HOST").action(
    async (workspace: string, name: string, options: ApiOptions) => {
      const path = pathOf`/environment/${workspace}/${name}`;
      const status = await openApi(context, options).send("DELETE", path);
      if (options.json) printObject(context, status);
      else context.print(`deleted ${name} of ${workspace}\n`);
    },
  );
}

const variableCommand = (
  env: Command,
  name: string,
  description: string,
  ...lines: readonly string[]
): Command =>
  addApiOptions(env.command(name).description(description), "print the answer as JSON")
    .argument("<workspace>", "such as staging")
    .argument("<name>", "such as HOST")
    .addHelpText("after", examples(...lines));
