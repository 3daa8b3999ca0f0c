import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { AppError } from '#src/errors.ts';
import { loadProject } from '#src/project.ts';
import { temporaryFolder } from './support/temp.ts';

describe('a configuration is refused', () => {
  const wrong: [name: string, files: Record<string, string>, message: RegExp, hint?: RegExp][] = [
    [
      'without a default export',
      { 'castellan.config.ts': 'export const config = { listen: { port: 1 } };' },
      /castellan\.config\.ts: it has no default export$/,
      /export default defineConfig\(\{\.\.\.\}\)/,
    ],
    [
      'when there are two',
      { 'castellan.config.ts': 'export default {};', 'castellan.config.json': '{}' },
      / has both castellan\.config\.ts and castellan\.config\.json$/,
      /Keep one/,
    ],
    [
      'with a syntax error, and says in which line',
      { 'castellan.config.ts': "import { defineConfig } from 'castellan';\nexport default {{" },
      /cannot be loaded: .*castellan\.config\.ts:2\)$/,
    ],
    [
      'when it throws',
      { 'castellan.config.ts': "throw new Error('no luck');" },
      /cannot be loaded: no luck$/,
    ],
    [
      'that is not JSON',
      { 'castellan.config.json': '{' },
      /castellan\.config\.json cannot be loaded: /,
    ],
    ['that is not there', {}, /^No castellan\.config\.ts or \.json in /, /castellan init/],
  ];
  for (const [name, files, message, hint] of wrong) {
    it(name, async () => {
      await using folder = await temporaryFolder();
      for (const [file, text] of Object.entries(files)) {
        await writeFile(join(folder.path, file), text);
      }
      await assert.rejects(loadProject(folder.path), (error) => {
        assert.ok(error instanceof AppError);
        assert.equal(error.code, 'config_invalid');
        assert.match(error.message, message);
        if (hint !== undefined) assert.match(error.hint ?? '', hint);
        return true;
      });
    });
  }
});
