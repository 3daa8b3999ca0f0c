import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { z } from 'zod';
import { compileAccess, scopeOf, type Access, type Holder } from '#src/access/access.ts';
import { rolesSchema } from '#src/access/roles.ts';

type Input = z.input<typeof rolesSchema>;

function compile(input: Input): Access {
  return compileAccess(rolesSchema.parse(input));
}

/** `{ a: ['b'] }`: a includes b. One role holds each list. */
function including(
  includes: Record<string, string[]>,
  roles: Record<string, string[]> = {},
): Access {
  return compile({
    privileges: Object.entries(includes).map(([privilege, list]) => ({
      privilege,
      includes: list,
    })),
    roles: Object.entries(roles).map(([role, privileges]) => ({ role, privileges })),
  });
}

const holding = (roles: string[]): Holder => ({ roles, privileges: null });
const sorted = (names: Iterable<string>): string[] => [...names].toSorted();
const offered = (access: Access, roles: string[], requested: string[] = []): string[] =>
  access.offer(holding(roles), requested).map((one) => one.name);

describe('what privileges include', () => {
  const cases: [
    name: string,
    includes: Record<string, string[]>,
    of: string[],
    closure: string[],
  ][] = [
    ['nothing', { a: [] }, ['a'], ['a']],
    ['a chain', { a: ['b'], b: ['c'], c: [], d: [] }, ['a'], ['a', 'b', 'c']],
    ['only what is below', { a: ['b'], b: ['c'], c: [] }, ['b'], ['b', 'c']],
    ['a circle', { a: ['b'], b: ['c'], c: ['a'] }, ['b'], ['a', 'b', 'c']],
    ['itself', { a: ['a'] }, ['a'], ['a']],
    ['a diamond', { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }, ['a'], ['a', 'b', 'c', 'd']],
    [
      'what several include',
      { a: ['c'], b: ['d'], c: [], d: [] },
      ['a', 'b'],
      ['a', 'b', 'c', 'd'],
    ],
    ['no name that is not declared', { a: ['b'] }, ['a', 'z', '__proto__'], ['a']],
    ['nothing of nothing', { a: [] }, [], []],
  ];
  for (const [name, includes, of, closure] of cases) {
    it(`is ${name}`, () => assert.deepEqual(sorted(including(includes).closure(of)), closure));
  }

  it('is a closure, whatever the includes', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const list = fc.subarray(names);
    const graph = fc.tuple(...names.map(() => list));
    fc.assert(
      fc.property(graph, list, list, (lists, some, more) => {
        const access = including(
          Object.fromEntries(names.map((name, i) => [name, lists[i] ?? []])),
        );
        const closure = access.closure(some);
        assert.ok(
          some.every((one) => closure.has(one)),
          'holds what it was made of',
        );
        assert.deepEqual(sorted(access.closure(closure)), sorted(closure), 'twice is once');
        assert.ok(closure.isSubsetOf(access.closure([...some, ...more])), 'more gives no less');
      }),
    );
  });
});

describe('what roles give', () => {
  const access = including({ a: ['b'], b: [], c: [] }, { first: ['a'], second: ['c'], none: [] });
  it('is all that their privileges include', () => {
    assert.deepEqual(sorted(access.held(holding(['first', 'second']))), ['a', 'b', 'c']);
    assert.deepEqual(sorted(access.held(holding(['none']))), []);
    assert.deepEqual(sorted(access.held(holding([]))), []);
  });

  it('is nothing for a role that is gone from the file', () => {
    assert.deepEqual(sorted(access.held(holding(['fired', 'constructor']))), []);
  });

  it('counts for nothing beside privileges that were given in place of roles', () => {
    const given = (privileges: string[]): Holder => ({ roles: ['second'], privileges });
    assert.deepEqual(sorted(access.held(given(['a', 'undeclared']))), ['a', 'b']);
    assert.deepEqual(sorted(access.held(given([]))), []);
    assert.deepEqual(
      access.offer(given(['a', 'b', 'c']), []).map((one) => one.name),
      ['a', 'c'],
    );
    assert.deepEqual(access.offer(given(['a']), ['c']), []);
  });

  it('names roles and privileges as declared', () => {
    assert.deepEqual(sorted(access.roleNames), ['first', 'none', 'second']);
    assert.deepEqual(sorted(access.privilegeNames), ['a', 'b', 'c']);
  });
});

describe('what a consent page offers', () => {
  const access = including(
    { low: [], high: ['low'], other: [], circleA: ['circleB'], circleB: ['circleA'] },
    { all: ['other', 'high'], low: ['low'], circle: ['circleA'] },
  );
  const cases: [name: string, roles: string[], requested: string[], offer: string[]][] = [
    ['what no other privilege includes, in the order of the file', ['all'], [], ['high', 'other']],
    ['one that is included elsewhere, when it is held alone', ['low'], [], ['low']],
    ['all of a circle', ['circle'], [], ['circleA', 'circleB']],
    ['nothing without roles', [], [], []],
    ['what was asked for by name, also what another includes', ['all'], ['low'], ['low']],
    ['what was asked for, in the order of the file', ['all'], ['other', 'low'], ['low', 'other']],
    ['nothing that the roles do not give', ['low'], ['high', 'low', 'unknown'], ['low']],
    ['nothing when nothing that was asked for is held', ['low'], ['high'], []],
    ['each once', ['all', 'low'], ['low', 'low'], ['low']],
  ];
  for (const [name, roles, requested, offer] of cases) {
    it(`is ${name}`, () => assert.deepEqual(offered(access, roles, requested), offer));
  }

  it('amounts to all that the roles give', () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const list = fc.subarray(names);
    fc.assert(
      fc.property(fc.tuple(...names.map(() => list)), list, (lists, held) => {
        const includes = Object.fromEntries(names.map((name, i) => [name, lists[i] ?? []]));
        const any = including(includes, { role: held });
        assert.deepEqual(
          sorted(any.closure(offered(any, ['role']))),
          sorted(any.held(holding(['role']))),
        );
      }),
    );
  });

  it('has a title and a description for each', () => {
    const texts = compile({
      privileges: [{ privilege: 'a', title: 'Read', description: 'Looks.' }, { privilege: 'b' }],
    });
    assert.deepEqual(texts.describe(['b', 'a', 'c']), [
      { name: 'a', title: 'Read', description: 'Looks.' },
      { name: 'b', title: 'b', description: '' },
    ]);
  });
});

describe('who may run a tool', () => {
  const roles = (restrictedByDefault: boolean): Input => ({
    restrictedByDefault,
    privileges: [{ privilege: 'reader' }, { privilege: 'writer' }],
    permissions: {
      allowed: [
        { applyTo: 'look', type: 'tool', execute: ['reader'] },
        { applyTo: 'look', type: 'tool', execute: ['writer'] },
        { applyTo: 'nobody', type: 'tool', execute: [] },
        { applyTo: 'promoted', type: 'tool', promote: ['writer'] },
        { applyTo: 'pipe', type: 'pipeline', execute: ['reader'] },
      ],
    },
  });
  const cases: [tool: string, effective: string[], restricted: boolean, open: boolean][] = [
    ['look', ['reader'], true, true],
    ['look', ['writer'], true, true],
    ['look', [], false, false],
    ['look', ['Reader'], false, false],
    ['nobody', ['reader', 'writer'], false, false],
    ['promoted', ['writer'], false, true],
    ['pipe', ['reader'], false, true],
    ['unmentioned', [], false, true],
    ['__proto__', ['reader'], false, true],
  ];
  for (const [tool, effective, restricted, open] of cases) {
    it(`${tool} with [${effective.join()}]`, () => {
      assert.equal(compile(roles(true)).mayExecute(tool, new Set(effective)), restricted);
      assert.equal(compile(roles(false)).mayExecute(tool, new Set(effective)), open);
    });
  }

  it('names the privileges of which one is enough', () => {
    const access = compile(roles(true));
    assert.deepEqual(access.executors('look'), ['reader', 'writer']);
    assert.deepEqual(access.executors('nobody'), []);
    assert.deepEqual(access.executors('unmentioned'), []);
  });
});

it('a scope begins with the base scope', () => {
  assert.equal(scopeOf([]), 'mcp');
  assert.equal(scopeOf(['b', 'a']), 'mcp b a');
});
