import { prepare } from '../../bin/prepare.js';

/** `npm start`: see demo.ts. */

prepare();
const { runDemo } = await import('./demo.ts');
process.exitCode = await runDemo(process.argv.slice(2));
