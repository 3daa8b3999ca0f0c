import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { watchProject } from '#src/tools/watch.ts';
import { temporaryFolder } from '../support/temp.ts';

interface Watched {
  folder: string;
  write: (name: string) => Promise<void>;
  /** Does something and waits until a change, or a failure, is told. */
  after: (what: 'changed' | 'failed', doing: () => Promise<unknown>) => Promise<unknown>;
  failures: string[];
}

async function watchNew(stack: AsyncDisposableStack, folders: string[]): Promise<Watched> {
  const folder = join(stack.use(await temporaryFolder()).path, 'project');
  await mkdir(folder);
  for (const name of folders) await mkdir(join(folder, name));
  const told = new EventEmitter();
  const failures: string[] = [];
  stack.defer(
    watchProject({
      folder,
      tools: 'tools',
      roles: 'roles.json',
      changed: () => told.emit('changed'),
      failed(message) {
        failures.push(message);
        told.emit('failed');
      },
    }),
  );
  return {
    folder,
    failures,
    write: (name) => writeFile(join(folder, name), 'text'),
    async after(what, doing) {
      const heard = once(told, what);
      await doing();
      return heard;
    },
  };
}

describe('watching a project', () => {
  it('tells of a tool, of what is below the tools, and of roles.json', async () => {
    await using stack = new AsyncDisposableStack();
    const { write, after, failures } = await watchNew(stack, ['tools', 'tools/lib']);
    for (const name of ['tools/a.ts', 'tools/lib/b.ts', 'tools/a.ts', 'roles.json']) {
      await after('changed', () => write(name));
    }
    assert.deepEqual(failures, []);
  });

  it('goes on when the tools folder is replaced, goes, or comes', async () => {
    await using stack = new AsyncDisposableStack();
    const { folder, write, after, failures } = await watchNew(stack, []);
    const tools = join(folder, 'tools');
    await after('changed', () => mkdir(tools));
    await after('changed', () => write('tools/a.ts'));
    await after('changed', async () => {
      await rm(tools, { recursive: true });
      await mkdir(tools);
    });
    await after('changed', () => write('tools/b.ts'));
    await after('changed', () => rm(tools, { recursive: true }));
    await mkdir(join(folder, 'next'));
    await after('changed', () => rename(join(folder, 'next'), tools));
    await after('changed', () => write('tools/c.ts'));
    assert.deepEqual(failures, []);
  });

  it('says when it ends because the project is moved away', async () => {
    await using stack = new AsyncDisposableStack();
    const { folder, after, failures } = await watchNew(stack, ['tools']);
    await after('failed', () => rename(folder, `${folder}-moved`));
    assert.deepEqual(failures, [`${folder} was moved, removed or replaced`]);
  });

  it('says when it cannot begin', async () => {
    await using stack = new AsyncDisposableStack();
    const { path } = stack.use(await temporaryFolder());
    await symlink('loop', join(path, 'loop'));
    const failures: string[] = [];
    const end = watchProject({
      folder: join(path, 'loop'),
      tools: 'tools',
      roles: 'roles.json',
      changed: () => {},
      failed: (message) => failures.push(message),
    });
    end();
    assert.match(failures.join(), /loop cannot be watched: ELOOP/);
  });
});
