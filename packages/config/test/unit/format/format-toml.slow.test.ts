import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Node } from '@weir/proxy/schema';
import { formatToml } from '../../../src/format/format-toml.ts';
import { parseText, parseToml } from '../../../src/toml/parse.ts';
import { listCases } from '../../../../../test/fuzz/list-documents.ts';
import { pickCases } from '../../../../../test/fuzz/toml-documents.ts';

const CASES = {
  'white space around signs': [
    ' a.  b\t=1\n[ x . "y z" ]\n[[ x.z ]]#c\n',
    'a.b = 1\n\n[x."y z"]\n\n[[x.z]] #c\n',
  ],
  'one empty line above a header and its comments, and never two': [
    '\n\n# head\n\n\n# a\na = 1\n# about b\n# more\n[b]\n\n\nc = 1\n\n',
    '# head\n\n# a\na = 1\n\n# about b\n# more\n[b]\n\nc = 1\n',
  ],
  'arrays and inline tables on one line': [
    'a = [ 1,2 , "x" , ]\nb = {x=1,y = { }}\nc = [ ]\n',
    'a = [1, 2, "x",]\nb = { x = 1, y = {} }\nc = []\n',
  ],
  'line breaks inside brackets stay': [
    'a = [ # c\n\n      { x=1 } ,   # d  \n\n\n   # e\n  {x=2}\n    ,{x=3}\n\n ]\n',
    'a = [ # c\n\n  { x = 1 },   # d\n\n  # e\n  { x = 2 }\n  , { x = 3 }\n]\n',
  ],
  'strings and dates as they are': [
    'a="""\n  [x]   # no\n\n\n"""#c\nb=\'a  =  b\'\nc=1979-05-27   07:32:00.5\nd=[1.5,1e3]\n',
    'a = """\n  [x]   # no\n\n\n""" #c\nb = \'a  =  b\'\nc = 1979-05-27 07:32:00.5\nd = [1.5, 1e3]\n',
  ],
  'the line breaks of Windows': [
    'a=1\r\n[b]\r\nc=[\r\n1]\r\n',
    'a = 1\r\n\r\n[b]\r\nc = [\r\n  1]\r\n',
  ],
  'line breaks that differ from those in a string': ['\na = """\r\n"""\r\n', 'a = """\r\n"""\n'],
  'a missing line break at the end': ['a=1', 'a = 1\n'],
  nothing: ['\n \n', ''],
} as const;

for (const [name, [before, after]] of Object.entries(CASES)) {
  test(`the layout of ${name}`, () => {
    assert.equal(formatToml(before), after);
  });
}

/** A value without its places. */
function plain(node: Node): unknown {
  switch (node.kind) {
    case 'array':
      return node.items.map(plain);
    case 'table':
      return Array.from(node.entries, ([key, { value }]) => [key, plain(value)]);
    case 'string':
      return node.value;
    case 'datetime':
      return { datetime: node.value.replaceAll('T', ' ') };
    case 'integer':
    case 'float':
    case 'boolean':
      return { [node.kind]: String(node.value) };
    default:
      return node satisfies never;
  }
}

const commentsOf = (text: string): unknown =>
  parseText(text).comments.map(({ value }) => value.trimEnd());

test('values, comments and their order stay, and a second time changes nothing', () => {
  const texts = fc.oneof(
    listCases.map(({ text }) => text),
    pickCases.map(({ text }) => text.replace(/^\u{feff}/u, '')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const formatted = formatToml(text);
      assert.deepEqual(plain(parseToml(formatted)), plain(parseToml(text)));
      assert.deepEqual(commentsOf(formatted), commentsOf(text));
      assert.equal(formatToml(formatted), formatted);
      assert.equal(formatted.replaceAll(/\s/g, ''), text.replaceAll(/\s/g, ''));
    }),
    { numRuns: 400 },
  );
});
