import { AppError } from '#src/errors.ts';
import { passwordProblem } from '#src/users/user.ts';
import { HiddenInput, requireTerminal } from './ask.ts';
import { printNote } from './output.ts';

/*
 * Where a new password comes from: typed twice at a terminal, or one line on stdin. Never from an
 * argument, which every process on the machine can read.
 */

const MAX_BYTES = 4_096;
const ATTEMPTS = 3;
const CONTROL = /\p{Cc}/u;

/**
 * Reads a new password for the user of this name.
 * @throws `usage` when there is neither a terminal nor `--password-stdin`, `invalid_input` when the
 * password will not do.
 */
export async function readNewPassword(options: {
  name: string;
  fromStdin: boolean;
}): Promise<string> {
  if (!options.fromStdin) return askNewPassword(options.name);
  if (process.stdin.isTTY) {
    throw new AppError('usage', 'With --password-stdin the password is piped in', {
      hint: 'Leave the option out to type it without its being shown.',
    });
  }
  const password = await readLine();
  const problem = problemOf(password, options.name);
  if (problem !== undefined) throw new AppError('invalid_input', problem);
  return password;
}

async function askNewPassword(name: string): Promise<string> {
  requireTerminal('Pipe the password in with --password-stdin.');
  using input = new HiddenInput();
  for (let attempt = 1; ; attempt += 1) {
    const password = await input.ask(`New password for ${name}: `);
    const problem =
      problemOf(password, name) ??
      ((await input.ask('The same again: ')) === password ? undefined : 'The two passwords differ');
    if (problem === undefined) return password;
    if (attempt === ATTEMPTS) throw new AppError('invalid_input', problem);
    printNote(`${problem}.`);
  }
}

function problemOf(password: string, name: string): string | undefined {
  // A login form could never send it.
  if (CONTROL.test(password)) return 'A password is one line without control characters';
  return passwordProblem(password, name);
}

/** All of stdin, without the newline that `echo` adds. */
async function readLine(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    const bytes = chunk as Buffer;
    size += bytes.length;
    if (size > MAX_BYTES)
      throw new AppError('invalid_input', `More than ${MAX_BYTES} bytes on stdin are no password`);
    chunks.push(bytes);
  }
  if (size === 0) {
    throw new AppError('invalid_input', 'No password arrived on stdin', {
      hint: 'Pipe one line in, or leave --password-stdin out to be asked for it.',
    });
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Buffer.concat(chunks),
    );
    return text.replace(/\r?\n$/, '');
  } catch (error) {
    throw new AppError('invalid_input', 'The password on stdin is not UTF-8', { cause: error });
  }
}
