import { Console } from 'node:console';
import { run } from '#src/cli/program.ts';

/*
 * The castellan command: the process's edge, and nothing else. What it can do is in cli/.
 */

// stdout is for results. Tools and configurations of a project print where they like; it goes to stderr.
globalThis.console = new Console(process.stderr);
// A reader that has seen enough (`| head`) is no failure of the command.
process.stdout.on('error', () => {});

const code = await run(process.argv.slice(2));
// What a project's code left running must not keep a finished command alive; its result must get out.
process.stdout.write('', () => process.exit(code));
