import { prepare } from '../../bin/prepare.js';

/** `npm start`: see demo.ts. */

prepare();
const { runDemo } = await import('./demo.ts');
await runDemo();
