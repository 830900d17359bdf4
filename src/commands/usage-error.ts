// Words usage errors: one line that names what was given and what is allowed.
import type { Argument, Command, CommanderError, Option } from "commander";
import { show } from "../model/validate.ts";

/** Words an error that the command line library found in the arguments of `command`. */
export function usageError(command: Command, { code, message }: CommanderError): Error {
  const path = pathOf(command);
  const fault = faultIn(command, code, message.replace(/^error: /, ""));
  return new Error(`${fault}${fault.endsWith("?") ? " See" : "; see"} \`${path} --help\``);
}

/** Returns the command's words, starting with the program's name. */
function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function faultIn(command: Command, code: string, message: string): string {
  const [fault = "", suggestion] = message.split("\n");
  const name = command.parent ? pathOf(command).replace(/^\S+ /, "") : command.name();
  switch (code) {
    case "commander.unknownCommand":
      return `${fault}: ${meantBy(suggestion) ?? `the commands are ${commandsOf(command)}`}`;
    case "commander.unknownOption":
      return `${fault}: ${meantBy(suggestion) ?? `${name} takes ${optionsOf(command)}`}`;
    case "commander.help":
      return `${name} needs a command: ${commandsOf(command)}`;
    case "commander.missingArgument": {
      const missing = command.registeredArguments[command.args.length];
      if (!missing) return fault;
      return `${name} needs <${missing.name()}>: ${choicesOf(missing) ?? missing.description}`;
    }
    case "commander.missingMandatoryOptionValue":
    case "commander.optionMissingArgument": {
      const option = command.options.find(({ flags }) => fault.includes(`'${flags}'`));
      return `${name} needs ${option?.flags}: ${choicesOf(option) ?? option?.description}`;
    }
    case "commander.invalidArgument":
      return invalidValueIn(fault);
    case "commander.excessArguments":
      return `${name} does not take ${show(command.args.slice(command.registeredArguments.length).join(" "))}`;
    default:
      return message.replaceAll("\n", " ");
  }
}

const choicesOf = (of: Argument | Option | undefined): string | undefined =>
  of?.argChoices && `one of ${of.argChoices.join(", ")}`;

/** Makes `(Did you mean …?)` part of a sentence. */
const meantBy = (suggestion: string | undefined): string | undefined =>
  suggestion?.replace(/^\(Did/, "did").replace(/\)$/, "");

const commandsOf = (command: Command): string =>
  command.commands.map((each) => each.name()).join(", ");

const optionsOf = (command: Command): string =>
  command.options.map(({ long }) => long).join(", ") || "no options";

/** Rewords `option '--a <b>' argument 'c' is invalid. Allowed choices are d, e.` in our style. */
const invalidValueIn = (fault: string): string =>
  fault
    .replace(/^option '(?:-\w, )?(--[\w-]+)[^']*' argument (.*) is invalid\./s, "$1: $2 is")
    .replace(/^command-argument value (.*) is invalid for argument '(.*)'\./s, "<$2>: $1 is")
    .replace(/ is Allowed choices are (.*)\.$/s, " is not one of $1");
