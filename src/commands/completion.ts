// `sonde completion`: a shell's completion script, and `sonde complete`, which the script calls at
// each Tab.
import type { Command } from "commander";
import { examples } from "./command.ts";
import type { Context } from "./command.ts";

const NAME = "completion";
const DESCRIPTION = "Print the completion script for your shell.";
const HELP = examples(
  "source <(sonde completion bash)   # in ~/.bashrc",
  "source <(sonde completion zsh)    # in ~/.zshrc, after compinit",
  "sonde completion fish | source    # in ~/.config/fish/config.fish",
);

/** The function that the script uses from the package bash-completion, for shells without it. */
const BASH_WITHOUT_PACKAGE = `
declare -F _get_comp_words_by_ref > /dev/null || _get_comp_words_by_ref() {
    cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
    words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
}
`;

/** Call it after all other commands are added. Loads the library only if `args` need it. */
export async function addCompletionCommand(
  program: Command,
  { print }: Pick<Context, "print">,
  args: readonly string[],
): Promise<void> {
  if (args[0] === NAME || args[0] === "complete") {
    const { default: addCompletion } = await import("@bomb.sh/tab/commander");
    addCompletion(program, { completionCommandName: NAME });
  } else program.command(NAME).argument("<shell>", "zsh, bash, fish or powershell");
  program.commands
    .find((command) => command.name() === NAME)
    ?.description(DESCRIPTION)
    .addHelpText("after", HELP)
    .hook("preAction", ({ args: [shell] }) => {
      if (shell === "bash") print(BASH_WITHOUT_PACKAGE);
    });
}
