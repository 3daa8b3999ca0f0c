import { Console } from 'node:console';
import { reportLostResult } from '#src/cli/output.ts';
import { run } from '#src/cli/program.ts';

/*
 * The castellan command: the process's edge, and nothing else. What it can do is in cli/.
 */

// stdout is for results. Tools and configurations of a project print where they like; it goes to stderr.
globalThis.console = new Console(process.stderr);
process.stdout.on('error', reportLostResult);

const code = await run(process.argv.slice(2));
if (code !== 0) process.exitCode = code;
// What a project's code left running must not keep a finished command alive; its result must get out.
process.stdout.write('', () => setImmediate(() => process.exit()));
