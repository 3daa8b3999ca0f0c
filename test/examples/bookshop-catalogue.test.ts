import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkRoles, rolesSchema, type Roles } from '#src/access/roles.ts';
import type { Event } from '#src/events.ts';
import { importFresh, provideImports } from '#src/project-imports.ts';
import { loadTools } from '#src/tools/load.ts';
import type { CompiledTool, ToolSet } from '#src/tools/tool-set.ts';
import { houseRuleProblems } from '../support/house-rules.ts';

const FOLDER = fileURLToPath(new URL('../../examples/bookshop', import.meta.url));

/** The whole catalogue of the demo, as it is published to clients. */
describe('bookshop: the catalogue that clients see', () => {
  const events: Event[] = [];
  let set: ToolSet;
  let roles: Roles;

  before(async () => {
    provideImports(FOLDER);
    set = await loadTools({
      folder: join(FOLDER, 'tools'),
      version: 'catalogue',
      importModule: importFresh,
      emit: (event) => events.push(event),
    });
    roles = rolesSchema.parse(JSON.parse(await readFile(join(FOLDER, 'roles.json'), 'utf8')));
  });

  /** A line for every tool of which something is not as it should be. */
  function complaints(find: (one: CompiledTool) => string | string[] | undefined): string[] {
    return set.sorted.flatMap((one) => {
      const found = find(one) ?? [];
      return [found].flat().map((problem) => `${one.tool.name}: ${problem}`);
    });
  }

  it('loads whole, without a warning', () => {
    assert.deepEqual(
      events.map((event) => event.type),
      ['tools.loaded'],
    );
    assert.equal(set.sorted.length, 7);
  });

  it('keeps the house rules in every schema', () => {
    assert.deepEqual(
      complaints((one) => houseRuleProblems(one.published)),
      [],
    );
  });

  it('has short names', () => {
    assert.deepEqual(
      complaints(({ tool }) => (tool.name.length > 40 ? 'too long' : undefined)),
      [],
    );
  });

  it('says of every tool when to use it', () => {
    const silent = complaints(({ published: { description = '' } }) =>
      /\buse it\b/i.test(description) && description.length < 400 ? undefined : description,
    );
    assert.deepEqual(silent, []);
  });

  it('describes every field of every schema', () => {
    const mute = complaints(({ published }) => [
      ...undescribed(published.inputSchema, 'input'),
      ...undescribed(published.outputSchema, 'output'),
    ]);
    assert.deepEqual(mute, []);
  });

  it('says how every tool behaves', () => {
    const unsaid = complaints(({ published: { annotations = {} } }) =>
      (['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const).filter(
        (hint) => annotations[hint] === undefined,
      ),
    );
    assert.deepEqual(unsaid, []);
    assert.deepEqual(
      complaints(({ published }) => (published.title ? undefined : 'no title')),
      [],
    );
  });

  it('is restricted to privileges that roles.json declares, every tool of it', () => {
    const nouns = { tools: new Set(set.byName.keys()), toolsIncomplete: false };
    assert.deepEqual(checkRoles(roles, nouns), { errors: [], warnings: [] });
    const permitted = new Set(roles.permissions.allowed.map((entry) => entry.applyTo));
    assert.deepEqual(permitted, nouns.tools);
    assert.equal(roles.restrictedByDefault, true);
  });
});

/** Paths of fields that do not say what they are. */
function undescribed(node: unknown, path: string): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const { properties = {}, items } = node as { properties?: object; items?: unknown };
  const fields = Object.entries(properties).flatMap(([name, child]: [string, object]) => [
    ...('description' in child ? [] : [`${path}.${name}`]),
    ...undescribed(child, `${path}.${name}`),
  ]);
  return [...fields, ...undescribed(items, `${path}[]`)];
}
