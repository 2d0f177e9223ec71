import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parse } from 'smol-toml';
import { loadProtocols } from '@weir/proxy/protocols';
import { editPick, removePick } from '../../src/edit/pick-editor.ts';
import { ConfigError } from '../../src/errors.ts';
import { checkBrokenDocument, checkPickEdit } from '../../../../test/fuzz/pick-edit.ts';
import { brokenDocuments, pickCases } from '../../../../test/fuzz/toml-documents.ts';

// Errors show lines of the document.
await loadProtocols();

const edit = (text: string, subscribe: boolean, group: string, target: string): string =>
  Buffer.from(editPick(Buffer.from(text), { subscribe }, group, target)).toString();

type Data = Readonly<Record<string, unknown>>;

const dataOf = (text: string): Data =>
  parse(text.replace(/^\u{feff}/u, ''), { integersAsBigInt: true });

interface Case {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** `default` of `[route]` becomes `x`. */
const ROUTE: readonly Case[] = [
  {
    name: 'a missing key is added at the end of its table, before the rules',
    before: '[route]\ngeoip = "f" # g\n\n# the rules\n[[route.rule]]\noutbound = "a"\n',
    after:
      '[route]\ngeoip = "f" # g\ndefault = "x"\n\n# the rules\n[[route.rule]]\noutbound = "a"\n',
  },
  {
    name: 'a key is added to a table without keys, indented like its header',
    before: ' [ route ] # r\n# nothing yet\n[log]\n',
    after: ' [ route ] # r\n default = "x"\n# nothing yet\n[log]\n',
  },
  {
    name: 'a table that only held subtables gets its header before the first of them',
    before: '[[outbound]]\ntag = "a"\n\n# first\n# rule\n[[route.rule]]\noutbound = "a"\n',
    after:
      '[[outbound]]\ntag = "a"\n\n[route]\ndefault = "x"\n\n# first\n# rule\n[[route.rule]]\noutbound = "a"\n',
  },
  {
    name: 'a comment at the head of the file stays there',
    before: '# my file\n\n[[route.rule]]\noutbound = "a"\n',
    after: '# my file\n\n[route]\ndefault = "x"\n\n[[route.rule]]\noutbound = "a"\n',
  },
  {
    name: 'the lines that npm has written stay',
    before:
      '\n> weir-proxy@2.1.1 start\n> exec node packages/weir/src/main.js import x\n\n[route]\n',
    after:
      '\n> weir-proxy@2.1.1 start\n> exec node packages/weir/src/main.js import x\n\n[route]\ndefault = "x"\n',
  },
  {
    name: 'an inline table of several lines gets one more',
    before: 'route = {\n  geoip = "f", # g\n}\n',
    after: 'route = {\n  geoip = "f", # g\n  default = "x",\n}\n',
  },
  {
    name: 'an inline table of several lines without a final comma gets one where it is needed',
    before: 'route = {\n  geoip = "f" # g, h\n}\n',
    after: 'route = {\n  geoip = "f", # g, h\n  default = "x"\n}\n',
  },
  {
    name: 'a table of dotted keys gets one more',
    before: '  "route" . geoip = """\nf""" # g\nlog.level = "info"\n[dns]\n',
    after:
      '  "route" . geoip = """\nf""" # g\n  "route".default = "x"\nlog.level = "info"\n[dns]\n',
  },
];

for (const { name, before, after } of ROUTE) {
  test(`without [subscribe], ${name}`, () =>
    assert.equal(edit(before, false, 'default', 'x'), after));
}

/** The pick of `a b` becomes `x`. */
const SUBSCRIBE: readonly Case[] = [
  {
    name: 'a group is a key of [subscribe.routes], quoted where it must be',
    before: '[subscribe.routes]\ndefault = "a"\n',
    after: '[subscribe.routes]\ndefault = "a"\n"a b" = "x"\n',
  },
  {
    name: 'a missing [subscribe.routes] comes after [subscribe]',
    before: '[subscribe]\npath = "s"\n# p\n\n# log\n[log]\n',
    after: '[subscribe]\npath = "s"\n# p\n\n[subscribe.routes]\n"a b" = "x"\n\n# log\n[log]\n',
  },
  {
    name: 'a table that directly follows is kept apart by empty lines',
    before: '[subscribe]\npath = "s"\n[log]\n',
    after: '[subscribe]\npath = "s"\n\n[subscribe.routes]\n"a b" = "x"\n\n[log]\n',
  },
  {
    name: 'an inline [subscribe] gets the table inside its braces',
    before: 'subscribe = { path = "s" }\n',
    after: 'subscribe = { path = "s", routes = { "a b" = "x" } }\n',
  },
];

for (const { name, before, after } of SUBSCRIBE) {
  test(`with [subscribe], ${name}`, () => assert.equal(edit(before, true, 'a b', 'x'), after));
}

test('the default route of a subscribe file is the key `default` of [subscribe.routes]', () => {
  assert.equal(
    edit('[subscribe]\n[route]\ndefault = "a"\n', true, 'default', 'x'),
    '[subscribe]\n\n[subscribe.routes]\ndefault = "x"\n\n[route]\ndefault = "a"\n',
  );
});

const LITERALS: Readonly<Record<string, string>> = {
  '': '""',
  '"\\': String.raw`"\"\\"`,
  '\b\t\n\f\r': String.raw`"\b\t\n\f\r"`,
  '\0\u001b\u001f\u007f': String.raw`"\u0000\u001B\u001F\u007F"`,
  '\u0080é東京😀': '"\u0080é東京😀"',
  "it's # not [a] comment": `"it's # not [a] comment"`,
};

for (const [name, literal] of Object.entries(LITERALS)) {
  test(`${JSON.stringify(name)} is written ${literal}, as a value and as a key`, () => {
    assert.equal(edit('', true, name, name), `[subscribe.routes]\n${literal} = ${literal}\n`);
  });
}

const BARE = ['a', 'A-b_1', '1', '-'];

for (const name of BARE) {
  test(`the key ${name} needs no quotes`, () => {
    assert.equal(edit('', true, name, 'x'), `[subscribe.routes]\n${name} = "x"\n`);
  });
}

test('__proto__ is a key like any other', () => {
  const once = edit('[subscribe.routes]\n__proto__ = "a"\n', true, '__proto__', 'x');
  assert.equal(once, '[subscribe.routes]\n__proto__ = "x"\n');
});

interface Refusal {
  readonly name: string;
  readonly bytes: Uint8Array | string;
  readonly message: RegExp;
}

const REFUSED: readonly Refusal[] = [
  {
    name: 'bytes that are not UTF-8',
    bytes: Buffer.from('5b726f7574655d0aff', 'hex'),
    message: /^TOML parse error at line 2, column 1\n[^]*invalid UTF-8$/,
  },
  {
    name: 'text that is not TOML',
    bytes: '[subscribe]\nroutes = \n',
    message: /^TOML parse error at line 2, column 9/,
  },
  {
    name: 'a carriage return without a line feed',
    bytes: '# a\r[subscribe]\n',
    message: /^TOML parse error at line 1, column 4/,
  },
  { name: 'a key twice', bytes: 'a = 1\na = 2\n', message: /^TOML parse error at line 2/ },
  {
    name: 'nesting beyond the parser',
    bytes: `a = ${'['.repeat(100_000)}`,
    message: /^TOML parse error/,
  },
  {
    name: 'a parent that is a string',
    bytes: 'subscribe = "s"\n',
    message: /^`subscribe` is not a table$/,
  },
  {
    name: 'a parent that is an array of tables',
    bytes: '[[subscribe]]\n[subscribe.routes]\n',
    message: /^`subscribe` is not a table$/,
  },
  {
    name: 'a routes table that is an array',
    bytes: '[subscribe]\nroutes = [{}]\n',
    message: /^`subscribe.routes` is not a table$/,
  },
  {
    name: 'a routes table that is an array of tables',
    bytes: '[[subscribe.routes]]\n',
    message: /^`subscribe.routes` is not a table$/,
  },
  {
    name: 'a dotted parent that is a number',
    bytes: 'subscribe.routes = 1\n',
    message: /^`subscribe.routes` is not a table$/,
  },
  {
    name: 'a pick that has a header of its own',
    bytes: '[subscribe.routes.a]\n',
    message: /^`subscribe.routes.a` is a table, not a name$/,
  },
  {
    name: 'a pick that dotted keys make a table',
    bytes: '[subscribe.routes]\na.b = "c"\n',
    message: /^`subscribe.routes.a` is a table, not a name$/,
  },
];

for (const { name, bytes, message } of REFUSED) {
  test(`${name} cannot be edited`, () => {
    assert.throws(
      () => editPick(Buffer.from(bytes), { subscribe: true }, 'a', 'x', 'weir.toml'),
      (error) => {
        assert.ok(error instanceof ConfigError);
        assert.equal(error.kind, 'invalid');
        assert.match(error.message, message);
        assert.equal(error.location?.file, 'weir.toml');
        return true;
      },
    );
  });
}

test('half of a surrogate pair cannot be written', () => {
  const refused = { name: 'ConfigError', kind: 'invalid' };
  assert.throws(() => edit('', true, '\ud83d', 'x'), refused);
  assert.throws(() => edit('', true, 'a', '\ude00'), refused);
});

test('any bytes are edited or refused by name', () => {
  fc.assert(
    fc.property(brokenDocuments, (bytes) => {
      checkBrokenDocument(bytes);
    }),
    { numRuns: 200 },
  );
});

test('the pick is the only change, in documents of all forms', () => {
  fc.assert(
    fc.property(pickCases, (given) => {
      checkPickEdit(given);
    }),
    { numRuns: 400 },
  );
});

test('any series of picks and removals is the same series in the data, and what was added leaves no trace', () => {
  const step = fc.record({
    group: fc.constantFrom('default', 'a', 'b c'),
    target: fc.option(fc.constantFrom('x', 'y "1"'), { nil: undefined, freq: 2 }),
  });
  fc.assert(
    fc.property(
      pickCases,
      fc.array(step, { maxLength: 6 }),
      ({ text: first, subscribe }, steps) => {
        let text = first;
        const picks = new Map<string, string | undefined>();
        const remove = (from: string, group: string): string =>
          Buffer.from(removePick(Buffer.from(from), { subscribe }, group)).toString();
        for (const { group, target } of steps) {
          if (target === undefined) {
            if (picks.has(group) && picks.get(group) === undefined) {
              assert.equal(remove(text, group), text, 'no pick is there');
            }
            text = remove(text, group);
          } else if (checkPickEdit({ text, subscribe, group, target }).kind === 'refused') return;
          else text = edit(text, subscribe, group, target);
          picks.set(group, target);
          const data = dataOf(text);
          const { routes = {} } = (data['subscribe'] ?? {}) as Data;
          const table = ((subscribe ? routes : data['route']) ?? {}) as Data;
          for (const [name, pick] of picks) {
            const found = table[name];
            // Dotted keys make a table of that name, which is no pick and stays.
            assert.equal(typeof found === 'object' ? undefined : found, pick, name);
          }
        }
      },
    ),
    { numRuns: 150 },
  );
});
