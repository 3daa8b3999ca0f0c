import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import type { ReadStream } from 'node:tty';
import { CommanderError } from 'commander';
import { HiddenInput } from '#src/cli/ask.ts';
import { verifyPassword } from '#src/credentials/password.ts';
import { findUserByName } from '#src/storage/users.ts';
import { cliCommand, makeProject, PASSWORD, seed, type TestProject } from './support.ts';

/** Stands in for a terminal's keyboard. */
class Keyboard extends PassThrough {
  modes: boolean[] = [];

  setRawMode(mode: boolean): this {
    this.modes.push(mode);
    return this;
  }
}

async function typed(...chunks: (string | Buffer)[]): Promise<string[]> {
  const keyboard = new Keyboard();
  for (const chunk of chunks) keyboard.write(chunk);
  using input = new HiddenInput(keyboard as unknown as ReadStream);
  return [await input.ask('first'), await input.ask('second')];
}

const isInterruption = (error: unknown): boolean =>
  error instanceof CommanderError && error.exitCode === 130;

describe('hidden input', () => {
  it('takes lines from keys, pastes and torn characters', async () => {
    assert.deepEqual(await typed('one\r', 'two\r'), ['one', 'two']);
    assert.deepEqual(await typed('one\r\ntwo\n'), ['one', 'two']);
    const bytes = Buffer.from('grün🎉\rx\r');
    const torn = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
    assert.deepEqual(await typed(...torn), ['grün🎉', 'x']);
  });

  it('edits as a terminal does', async () => {
    assert.deepEqual(await typed('onx\x7fe\r', 'wrong\x15tw🎉\bo\r'), ['one', 'two']);
    assert.deepEqual(await typed('o\x1b[Dn\x1bOAe\t\r', '\x7ftwo\x04'), ['one', 'two']);
  });

  it('ends with the command on Ctrl-C and when the terminal goes away', async () => {
    await assert.rejects(typed('one\r', 'tw\x03'), isInterruption);
    const keyboard = new Keyboard();
    const input = new HiddenInput(keyboard as unknown as ReadStream);
    keyboard.end('half');
    await assert.rejects(input.ask('first'), isInterruption);
  });

  it('gives the terminal back', async () => {
    const keyboard = new Keyboard();
    {
      using input = new HiddenInput(keyboard as unknown as ReadStream);
      keyboard.write('\x03');
      await assert.rejects(input.ask('first'), isInterruption);
    }
    assert.deepEqual(keyboard.modes, [true, false]);
  });
});

/** Of util-linux: gives a command a terminal of its own, and passes on how it ended. */
const TERMINAL = 'script';

/** A conversation at a real terminal: each answer is typed when the text before it has appeared. */
async function converse(
  project: TestProject,
  args: readonly string[],
  script: readonly (readonly [string, string])[],
): Promise<{ code: number | null; screen: string }> {
  const command = cliCommand([...args, '--project', project.folder]);
  const child = spawn(TERMINAL, ['-qec', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let screen = '';
  let from = 0;
  const waiting = [...script];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    const [next] = waiting;
    if (next === undefined || !screen.slice(from).includes(next[0])) return;
    from = screen.length;
    waiting.shift();
    child.stdin.write(next[1]);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, screen };
}

describe('at a terminal', () => {
  it('a new password is typed twice, unseen, again after a slip', async () => {
    await using project = await makeProject();
    const { code, screen } = await converse(
      project,
      ['users', 'add', 'ana'],
      [
        ['New password for ana: ', 'too short\r'],
        ['New password for ana: ', `${PASSWORD}\r`],
        ['The same again: ', 'something else\r'],
        ['New password for ana: ', `${PASSWORD}\r`],
        ['The same again: ', `${PASSWORD}\r`],
      ],
    );
    assert.equal(code, 0, screen);
    assert.doesNotMatch(screen, /correct horse|too short|something else/);
    assert.match(screen, /at least 12 characters.*The two passwords differ.*ana can log in now/s);
    const { store } = await project.open();
    const user = await findUserByName(store.db, 'ana');
    assert.ok(await verifyPassword(user?.passwordHash, PASSWORD));
  });

  it('Ctrl-C is 130 and changes nothing', async () => {
    await using project = await makeProject();
    await seed(project);
    const password = await converse(
      project,
      ['users', 'passwd', 'ana'],
      [['New password', 'secret\x03']],
    );
    assert.equal(password.code, 130);
    const question = await converse(project, ['users', 'remove', 'ana'], [['[y/N]', '\x03']]);
    assert.equal(question.code, 130);
    assert.equal((await project.json<unknown[]>(['users', 'list'])).length, 2);
  });

  it('revoke --all and remove ask, and only yes is yes', async () => {
    await using project = await makeProject();
    await seed(project);
    const no = await converse(project, ['grants', 'revoke', '--all'], [['[y/N]', '\r']]);
    assert.equal(no.code, 1);
    assert.match(no.screen, /Revoke all 3 grants, with 3 tokens\? .*Nothing was changed/s);
    const yes = await converse(project, ['grants', 'revoke', '--all'], [['[y/N]', 'y\r']]);
    assert.equal(yes.code, 0);
    assert.match(yes.screen, /3 grants revoked; 3 tokens died with them/);
    const removed = await converse(
      project,
      ['users', 'remove', 'ben'],
      [['Remove ben, for good? [y/N]', 'yes\r']],
    );
    assert.equal(removed.code, 0);
    const client = await converse(
      project,
      ['clients', 'remove', 'cli_good'],
      [['Remove Good client, for good? [y/N]', 'no\r']],
    );
    assert.equal(client.code, 1);
    assert.match(client.screen, /Nothing was changed/);
  });
});
