import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkRoles, rolesSchema, type Nouns } from '#src/access/roles.ts';

/** The paths of all that the schema finds wrong. */
function schemaProblems(value: unknown): string[] {
  const result = rolesSchema.safeParse(value);
  return (result.error?.issues ?? []).map((issue) =>
    issue.code === 'unrecognized_keys'
      ? [...issue.path, issue.keys.join()].join('.')
      : issue.path.join('.'),
  );
}

const NOUNS: Nouns = { tools: new Set(['look', 'change']), toolsIncomplete: false };

function problems(value: unknown, nouns = NOUNS): { errors: string[]; warnings: string[] } {
  return checkRoles(rolesSchema.parse(value), nouns);
}

const READER = { privilege: 'reader' };
const WRITER = { privilege: 'writer', includes: ['reader'] };
const allowing = (...allowed: object[]): object => ({
  privileges: [READER, WRITER],
  permissions: { allowed },
});

describe('the shape of roles.json', () => {
  it('has a default for everything, and restricts by default', () => {
    assert.deepEqual(rolesSchema.parse({}), {
      restrictedByDefault: true,
      privileges: [],
      roles: [],
      permissions: { allowed: [] },
      restrict: {},
    });
    assert.deepEqual(rolesSchema.parse({ privileges: [READER] }).privileges, [
      { privilege: 'reader', includes: [], description: '' },
    ]);
  });

  const permission = { applyTo: 'look', type: 'tool' };
  const cases: [name: string, value: unknown, ...paths: string[]][] = [
    ['a list instead of an object', [], ''],
    ['a misspelt field', { priviliges: [] }, 'priviliges'],
    ['a wrong type', { restrictedByDefault: 'yes' }, 'restrictedByDefault'],
    ['a privilege without a name', { privileges: [{}] }, 'privileges.0.privilege'],
    ['an empty name', { privileges: [{ privilege: '' }] }, 'privileges.0.privilege'],
    ['a name with a space', { privileges: [{ privilege: 'a b' }] }, 'privileges.0.privilege'],
    ['a name with a quote', { privileges: [{ privilege: 'a"b' }] }, 'privileges.0.privilege'],
    ['a name with a line end', { privileges: [{ privilege: 'a\n' }] }, 'privileges.0.privilege'],
    ['a name beyond ASCII', { privileges: [{ privilege: 'é' }] }, 'privileges.0.privilege'],
    [
      'a name of 65 characters',
      { privileges: [{ privilege: 'a'.repeat(65) }] },
      'privileges.0.privilege',
    ],
    [
      'a misspelt field of a privilege',
      { privileges: [READER, { privilege: 'b', include: [] }] },
      'privileges.1.include',
    ],
    [
      'a title of 81 characters',
      { privileges: [{ privilege: 'a', title: 'x'.repeat(81) }] },
      'privileges.0.title',
    ],
    [
      'a role without privileges',
      { roles: [{ role: 'a', privileges: [] }, { role: 'b' }] },
      'roles.1.privileges',
    ],
    [
      'an unknown type of permission',
      { permissions: { allowed: [{ ...permission, type: 'tol' }] } },
      'permissions.allowed.0.type',
    ],
    [
      'an unknown verb',
      { permissions: { allowed: [{ ...permission, exec: [] }] } },
      'permissions.allowed.0.exec',
    ],
    [
      'a verb that is no list',
      { permissions: { allowed: [permission, { ...permission, execute: 'reader' }] } },
      'permissions.allowed.1.execute',
    ],
    [
      'two at once',
      { roles: 5, permissions: { allowed: [{ type: 'tool' }] } },
      'roles',
      'permissions.allowed.0.applyTo',
    ],
  ];
  for (const [name, value, ...paths] of cases) {
    it(`refuses ${name}`, () => assert.deepEqual(schemaProblems(value), paths));
  }
});

describe('names in roles.json', () => {
  it('are fine when everything is declared', () => {
    const value = {
      ...allowing(
        { applyTo: 'look', type: 'tool', execute: ['reader'], promote: ['writer'] },
        { applyTo: 'ds', type: 'datastore', read: ['reader'] },
      ),
      roles: [{ role: 'clerk', privileges: ['writer', 'reader'] }],
    };
    assert.deepEqual(problems(value), { errors: [], warnings: [] });
  });

  const cases: [name: string, value: object, ...errors: string[]][] = [
    [
      'an included privilege that is not declared',
      { privileges: [READER, { privilege: 'b', includes: ['reader', 'raeder'] }] },
      'privileges[1].includes: unknown privilege "raeder"',
    ],
    [
      'a privilege that is declared twice',
      { privileges: [READER, WRITER, READER] },
      'privileges[2].privilege: "reader" is declared twice',
    ],
    ...['mcp', 'openid', 'offline_access', 'profile', 'email'].map(
      (name): [string, object, string] => [
        `the reserved ${name}`,
        { privileges: [{ privilege: name }] },
        `privileges[0].privilege: "${name}" is a reserved scope`,
      ],
    ),
    [
      'a role that is declared twice',
      {
        roles: [
          { role: 'a', privileges: [] },
          { role: 'a', privileges: [] },
        ],
      },
      'roles[1].role: "a" is declared twice',
    ],
    [
      'a role with an unknown privilege',
      { privileges: [READER], roles: [{ role: 'a', privileges: ['reader', 'Reader'] }] },
      'roles[0].privileges: unknown privilege "Reader"',
    ],
    [
      'an unknown tool',
      allowing({ applyTo: 'lok', type: 'tool', execute: ['reader'] }),
      'permissions.allowed[0].applyTo: unknown tool "lok"',
    ],
    [
      'a tool that is only in another case',
      allowing({ applyTo: 'Look', type: 'tool' }),
      'permissions.allowed[0].applyTo: unknown tool "Look"',
    ],
    ...(['read', 'create', 'update', 'drop', 'execute', 'promote'] as const).map(
      (verb): [string, object, string] => [
        `an unknown privilege that may ${verb}`,
        allowing(
          { applyTo: 'look', type: 'tool' },
          { applyTo: 'look', type: 'tool', [verb]: ['x'] },
        ),
        `permissions.allowed[1].${verb}: unknown privilege "x"`,
      ],
    ),
    [
      'a datastore with another name',
      allowing({ applyTo: 'db', type: 'datastore' }),
      'permissions.allowed[0].applyTo: unknown datastore "db"; the datastore is called "ds"',
    ],
    [
      'a dataClass',
      allowing({ applyTo: 'Order', type: 'dataClass' }),
      'permissions.allowed[0].applyTo: unknown dataClass "Order"',
    ],
    [
      'an attribute',
      allowing({ applyTo: 'Order.id', type: 'attribute' }),
      'permissions.allowed[0].applyTo: unknown attribute "Order.id"',
    ],
    [
      'a restriction of an unknown dataClass',
      { restrict: { Order: 'owner = :user.name' } },
      'restrict.Order: unknown dataClass',
    ],
    [
      'everything at once',
      {
        privileges: [{ privilege: 'mcp', includes: ['x'] }],
        roles: [{ role: 'a', privileges: ['y'] }],
        permissions: { allowed: [{ applyTo: 'z', type: 'tool', execute: ['w'] }] },
      },
      'privileges[0].privilege: "mcp" is a reserved scope',
      'privileges[0].includes: unknown privilege "x"',
      'roles[0].privileges: unknown privilege "y"',
      'permissions.allowed[0].applyTo: unknown tool "z"',
      'permissions.allowed[0].execute: unknown privilege "w"',
    ],
  ];
  for (const [name, value, ...errors] of cases) {
    it(`are wrong with ${name}`, () => assert.deepEqual(problems(value).errors, errors));
  }

  it('are a warning where they are data: an unknown pipeline', () => {
    assert.deepEqual(problems(allowing({ applyTo: 'kb', type: 'pipeline', read: ['reader'] })), {
      errors: [],
      warnings: ['permissions.allowed[0].applyTo: unknown pipeline "kb"'],
    });
  });

  it('are a warning while a tool file does not load, but only those of tools', () => {
    const value = allowing({ applyTo: 'lok', type: 'tool', execute: ['x'] });
    assert.deepEqual(problems(value, { ...NOUNS, toolsIncomplete: true }), {
      errors: ['permissions.allowed[0].execute: unknown privilege "x"'],
      warnings: ['permissions.allowed[0].applyTo: unknown tool "lok"'],
    });
  });
});
