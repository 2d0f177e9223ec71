import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { loadProtocols } from '@weir/proxy/protocols';
import { ConfigError } from '../../../src/errors.ts';
import { editText } from '../../../src/edit/edit-text.ts';
import {
  ConfigInbounds,
  type InboundList,
  type NewElement,
} from '../../../src/edit/lists/inbound-list.ts';
import { SourceText } from '../../../src/sources/source-text.ts';
import { checkListEdits } from '../../../../../test/fuzz/inbound-lists.ts';
import { listCases } from '../../../../../test/fuzz/list-documents.ts';
import { brokenDocuments } from '../../../../../test/fuzz/toml-documents.ts';

// Errors show lines of the document.
await loadProtocols();

const BOB: NewElement = { pairs: [['password', 'p']] };
const ANN: NewElement = { pairs: [['id', 'i']], label: 'ann' };

const listOf = (text: string, tag = 'in'): InboundList => {
  const list = new ConfigInbounds(new SourceText(text, 'weir.toml')).list(tag, [
    'users',
    'clients',
  ]);
  return list ?? assert.fail('no such inbound');
};

const HEAD = '[[inbound]]\ntag = "in"\n';

interface Case {
  readonly name: string;
  readonly before: string;
  readonly after: string;
  /** With a label. */
  readonly labelled?: string;
}

/** Texts follow `HEAD`. */
const ADDED: readonly Case[] = [
  {
    name: 'one line',
    before: 'settings.users = [{ id = "a" }] # c\n',
    after: 'settings.users = [{ id = "a" }, { password = "p" }] # c\n',
    labelled: 'settings.users = [{ id = "a" },\n  { id = "i" } # name: ann\n] # c\n',
  },
  {
    name: 'an empty array',
    before: '[inbound.settings]\nusers = [] # none\n',
    after: '[inbound.settings]\nusers = [{ password = "p" }] # none\n',
    labelled: '[inbound.settings]\nusers = [\n  { id = "i" } # name: ann\n] # none\n',
  },
  {
    name: 'a line for each user',
    before: '[inbound.settings]\nusers = [\n\t{ id = "a" }, # first\n\t# end\n]\n',
    after:
      '[inbound.settings]\nusers = [\n\t{ id = "a" }, # first\n\t{ password = "p" },\n\t# end\n]\n',
    labelled:
      '[inbound.settings]\nusers = [\n\t{ id = "a" }, # first\n\t{ id = "i" }, # name: ann\n\t# end\n]\n',
  },
  {
    name: 'tables with headers',
    before: '\n  [[inbound.settings.users]] # a\n    id = "a" # b\n# end\n',
    after:
      '\n  [[inbound.settings.users]] # a\n    id = "a" # b\n\n  [[inbound.settings.users]]\n    password = "p"\n# end\n',
    labelled:
      '\n  [[inbound.settings.users]] # a\n    id = "a" # b\n\n  [[inbound.settings.users]] # name: ann\n    id = "i"\n# end\n',
  },
  {
    name: 'lines that begin with the comma',
    before: 'settings.users = [\n    { id = "a" } # a\n  , { id = "b" } # b\n  # end\n]\n',
    after:
      'settings.users = [\n    { id = "a" } # a\n  , { id = "b" } # b\n  , { password = "p" }\n  # end\n]\n',
    labelled:
      'settings.users = [\n    { id = "a" } # a\n  , { id = "b" } # b\n  , { id = "i" } # name: ann\n  # end\n]\n',
  },
  {
    name: 'tables with headers, apart from a comment above the last one',
    before: '\n# b\n[[inbound.settings.users]]\nid = "b"\n',
    after:
      '\n# b\n[[inbound.settings.users]]\nid = "b"\n\n[[inbound.settings.users]]\npassword = "p"\n',
  },
  {
    name: 'settings without a list',
    before: '[inbound.settings]\nmethod = "m" # m\n[inbound.settings.masquerade]\n',
    after:
      '[inbound.settings]\nmethod = "m" # m\nusers = [\n  { password = "p" },\n]\n[inbound.settings.masquerade]\n',
  },
  {
    name: 'no settings at all',
    before: 'port = 1\n\n[inbound.stream]\nnetwork = "ws"\n\n[[outbound]]\n',
    after:
      'port = 1\n\n[inbound.stream]\nnetwork = "ws"\n\n[[inbound.settings.users]]\npassword = "p"\n\n[[outbound]]\n',
  },
];

describe('a user is added to', () => {
  for (const { name, before, after, labelled } of ADDED) {
    test(name, () => {
      assert.equal(listOf(HEAD + before).append(BOB), HEAD + after);
      if (labelled !== undefined) assert.equal(listOf(HEAD + before).append(ANN), HEAD + labelled);
    });
  }

  test('a list that is missing, in the way the file writes others', () => {
    const other = '[[inbound]]\ntag = "b"\n[[inbound.settings.users]]\nid = "b"\n';
    assert.equal(
      listOf(`${HEAD}[inbound.settings]\nmethod = "m"\n\n${other}`).append(ANN),
      `${HEAD}[inbound.settings]\nmethod = "m"\n\n[[inbound.settings.users]] # name: ann\nid = "i"\n\n${other}`,
    );
  });

  test('the inbound with the tag', () => {
    const text = `inbound = [{ tag = "a" }, { tag = "b", settings = { users = [] } }]`;
    assert.equal(
      listOf(text, 'b').append(BOB),
      `inbound = [{ tag = "a" }, { tag = "b", settings = { users = [{ password = "p" }] } }]`,
    );
    assert.equal(
      listOf(text, 'a').append(BOB),
      `inbound = [{ tag = "a", settings.users = [{ password = "p" }] }, { tag = "b", settings = { users = [] } }]`,
    );
    assert.equal(
      new ConfigInbounds(new SourceText(text, undefined)).list('c', ['users']),
      undefined,
    );
  });
});

describe('a user is removed from', () => {
  const cases: readonly (Case & { readonly index: number })[] = [
    {
      name: 'one line, the first',
      index: 0,
      before: 'settings.users = [ { id = "a" }, { id = "b" } ]\n',
      after: 'settings.users = [ { id = "b" } ]\n',
    },
    {
      name: 'lines of their own, with the comment on the line and the name above it',
      index: 1,
      before:
        '[inbound.settings]\nusers = [\n  { id = "a" }, # name: a\n  # name: b\n  # kept\n  { id = "b" }, # gone\n  { id = "c" }, # name: c\n]\n',
      after:
        '[inbound.settings]\nusers = [\n  { id = "a" }, # name: a\n  # kept\n\n  { id = "c" }, # name: c\n]\n',
    },
    {
      name: 'lines that begin with the comma, with the name above that',
      index: 1,
      before:
        'settings.users = [\n    { id = "a" } # name: a\n  # name: b\n  , { id = "b" }\n  # name: c\n  , { id = "c" }\n]\n',
      after: 'settings.users = [\n    { id = "a" } # name: a\n  # name: c\n  , { id = "c" }\n]\n',
    },
    {
      name: 'below a comment that the empty line after it keeps from the next',
      index: 0,
      before: 'settings.users = [\n  # a\n  { id = "a" },\n\n  { id = "b" },\n]\n',
      after: 'settings.users = [\n  # a\n\n  { id = "b" },\n]\n',
    },
    {
      name: 'tables with headers, with the empty lines before it',
      index: 1,
      before:
        '[[inbound.settings.users]]\nid = "a"\n\n# name: b\n[[inbound.settings.users]]\nid = "b"\n\n# c\n[[inbound.settings.users]]\nid = "c"\n',
      after: '[[inbound.settings.users]]\nid = "a"\n\n# c\n[[inbound.settings.users]]\nid = "c"\n',
    },
  ];
  for (const { name, index, before, after } of cases) {
    test(name, () => {
      assert.equal(listOf(HEAD + before).remove(index), HEAD + after);
    });
  }
});

test('names stand on the line of a user or above it, and belong to no other', () => {
  const text = `${HEAD}[inbound.settings]
users = [ # name: no
  { id = "a" }, # name:  ann b
  # name: bob
  # since May
  { id = "b" },

  # name: no

  { id = "c" }, { id = "d" }, # name: dan
  { id = "e" }
  # name: no
]
[[inbound]]
tag = "h"
# name: ann
[[inbound.settings.users]]
id = """
# name: no"""
[[inbound.settings.users]]
id = "b"
# name: bob
[[inbound.settings.users]]
# name: bo
id = """
# name: no
""" # x
[[inbound.settings.users]] #name: cy
id = "c"
`;
  const labels = (tag: string): unknown => listOf(text, tag).elements.map(({ label }) => label);
  assert.deepEqual(labels('in'), ['ann b', 'bob', undefined, 'dan', undefined]);
  assert.deepEqual(labels('h'), ['ann', undefined, 'bo', 'cy']);
});

test('an element before the bracket on its line goes with its line break', () => {
  for (const text of [
    `${HEAD}settings.users = [\n  { password = "a" }]\n`,
    `${HEAD}settings.users = [\n  { password = "a" },]\n`,
  ]) {
    const grown = listOf(text).append(BOB);
    assert.match(grown, /\n {2}\{ password = "p" \},?\]\n$/);
    assert.equal(listOf(grown).remove(1), text);
  }
});

test('an element of an empty list does not get the label of one that has gone', () => {
  const text = `${HEAD}settings.users = [\n  # name: ann\n]\n`;
  const grown = listOf(text).append(BOB);
  assert.equal(listOf(grown).elements[0]?.label, undefined);
  assert.ok(grown.includes('# name: ann'));
});

test('a value is replaced, and nothing else', () => {
  const text = `${HEAD}settings.users = [{ password = 'a', email = "b" }] # c\n`;
  assert.equal(
    listOf(text).set(0, 'password', 'x'),
    `${HEAD}settings.users = [{ password = "x", email = "b" }] # c\n`,
  );
});

test('a byte order mark stays', () => {
  const bytes = Buffer.from(`\u{feff}${HEAD}settings.users = []`);
  const edited = editText(bytes, undefined, (source) =>
    (new ConfigInbounds(source).list('in', ['users']) ?? assert.fail()).append(BOB),
  );
  assert.equal(
    Buffer.from(edited).toString(),
    `\u{feff}${HEAD}settings.users = [{ password = "p" }]`,
  );
});

for (const [what, text] of [
  ['settings that are not a table', 'settings = 1\n'],
  ['a list that is not a list', 'settings.users = "a"\n'],
  ['a list of other things', 'settings.users = [1]\n'],
  [
    'a list whose elements have tables below other ones',
    '[[inbound.settings.users]]\n[inbound.stream]\n[inbound.settings.users.more]\n',
  ],
] as const) {
  test(`${what} cannot be edited`, () => {
    assert.throws(() => listOf(HEAD + text), { name: 'ConfigError', kind: 'invalid' });
  });
}

test('the user is the only change, in documents of all layouts', () => {
  fc.assert(
    fc.property(listCases, (given) => {
      checkListEdits(given);
    }),
    { numRuns: 400 },
  );
});

const brokenLists = fc
  .tuple(
    listCases,
    fc.array(
      fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom('', '"', '[', ']', '{', '#', '\n', '\xff')),
      {
        maxLength: 3,
      },
    ),
  )
  .map(([{ text }, changes]) => {
    const bytes = [...Buffer.from(text)];
    for (const [place, remove, insert] of changes) {
      bytes.splice(place % (bytes.length + 1), remove, ...Buffer.from(insert, 'latin1'));
    }
    return Uint8Array.from(bytes);
  });

test('any bytes are edited or refused by name', () => {
  fc.assert(
    fc.property(fc.oneof(brokenDocuments, brokenLists), (bytes) => {
      try {
        editText(bytes, 'weir.toml', (source) => {
          const list = new ConfigInbounds(source).list('in', ['users', 'clients']);
          for (const index of list?.elements.keys() ?? []) list?.remove(index);
          return list?.append(ANN) ?? source.text;
        });
      } catch (error) {
        assert.ok(error instanceof ConfigError, String(error));
      }
    }),
    { numRuns: 400 },
  );
});
