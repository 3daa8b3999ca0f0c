import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../support/temp.ts';
import { cli } from './support.ts';

describe('init', () => {
  it('makes a project that every command accepts', async () => {
    await using parent = await temporaryFolder();
    const folder = join(parent.path, "Ana's shop");
    const made = await cli(['init', folder, '--json']);
    const files = [
      'castellan.config.ts',
      'roles.json',
      'tools/hello.ts',
      'README.md',
      '.gitignore',
    ];
    assert.deepEqual(JSON.parse(made.stdout), { folder, files });
    const checked = await cli(['roles', 'check', '--project', folder]);
    assert.deepEqual([checked.code, checked.stderr], [0, '']);
    const added = await cli(
      ['users', 'add', 'ana', '--role', 'member', '--password-stdin', '--project', folder],
      {
        input: 'correct horse battery staple\n',
      },
    );
    assert.equal(added.code, 0);
    const shown = await cli(['roles', 'show', 'ana', '--json'], { cwd: folder });
    assert.deepEqual((JSON.parse(shown.stdout) as { tools: unknown }).tools, [
      { name: 'hello', privileges: ['greeter'] },
    ]);
    assert.match(await readFile(join(folder, 'castellan.config.ts'), 'utf8'), /name: 'Anas shop'/);
    assert.match(
      await readFile(join(folder, 'README.md'), 'utf8'),
      /^ +claude mcp add --transport http --scope user anas-shop http:\/\/127\.0\.0\.1:8420\/mcp$/m,
    );
    assert.match(await readFile(join(folder, '.gitignore'), 'utf8'), /^keys\/\n\.castellan\/$/m);
  });

  it('says what to do next', async () => {
    await using parent = await temporaryFolder();
    const { code, stdout } = await cli(['init', 'shop'], { cwd: parent.path });
    assert.equal(code, 0);
    assert.match(stdout, /castellan users add YOUR_NAME --role member --project .*\/shop\n/);
  });

  it('prints a path that a shell reads as one word', async () => {
    await using parent = await temporaryFolder();
    const { stdout } = await cli(['init', "Ana's shop"], { cwd: parent.path });
    assert.match(stdout, /^ {2}castellan serve --project '.*\/Ana'\\''s shop'$/m);
  });

  it('refuses a folder that has one of the files, and writes nothing', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'roles.json'), '{}');
    const { code, stdout, stderr } = await cli(['init', folder.path]);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /already has roles\.json\nhint: Nothing was written/);
    assert.deepEqual(await readdir(folder.path), ['roles.json']);
    assert.equal(await readFile(join(folder.path, 'roles.json'), 'utf8'), '{}');
  });

  it('refuses an empty name, which is an unset variable in a script', async () => {
    await using folder = await temporaryFolder();
    const { code, stdout, stderr } = await cli(['init', ''], { cwd: folder.path });
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^castellan: .*'dir'.* It is empty\.\nhint: castellan init --help/);
    assert.deepEqual(await readdir(folder.path), []);
  });

  it('says what is in the way, and what to do', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'file');
    await writeFile(file, '');
    // The kernel lets nobody make a folder in /proc, and says that it is not there.
    for (const [where, expected] of [
      [file, /is a file, or is below one\nhint: Name a folder/],
      [join(file, 'below'), /is a file, or is below one\nhint: Name a folder/],
      ['/proc/castellan/project', /cannot be written: .*\nhint: Name a folder/],
    ] as const) {
      const { code, stdout, stderr } = await cli(['init', where]);
      assert.deepEqual([code, stdout], [1, ''], where);
      assert.match(stderr, expected);
    }
  });

  it('makes the folders above', async () => {
    await using folder = await temporaryFolder();
    const { code, stderr } = await cli(['init', 'a/b/c'], { cwd: folder.path });
    assert.deepEqual([code, stderr], [0, '']);
    assert.ok((await readdir(join(folder.path, 'a/b/c'))).includes('roles.json'));
  });

  it('refuses to run twice', async () => {
    await using folder = await temporaryFolder();
    assert.equal((await cli(['init', folder.path])).code, 0);
    const again = await cli(['init', folder.path]);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /castellan\.config\.ts, roles\.json/);
  });
});
