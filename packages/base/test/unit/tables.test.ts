import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvTable, textTable, columnsOf } from '../../src/tables.ts';

test('a table may have more rows than a call has arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => [index, 'x']);
  const lines = textTable(['NUMBER', 'TEXT'], rows).split('\n');
  assert.equal(lines.length, rows.length + 2);
  assert.equal(lines[1], '     0  x');
});

test('names that terminals draw wide take two columns a character, in tables too', () => {
  for (const [text, columns] of [
    ['', 0],
    ['Tokyo', 5],
    ['東京 01', 7],
    ['🇯🇵 Tokyo', 8],
    ['⚡', 2],
    ['❤️', 2],
    ['Zürich', 6],
    ['Zu\u0308rich', 6],
    ['ＡＢ', 4],
  ] as const) {
    assert.equal(columnsOf(text), columns, text);
  }
  assert.equal(
    textTable(
      ['NAME', 'TRIES'],
      [
        ['🇯🇵 東京', 3],
        ['Osaka', 12],
      ],
    ),
    'NAME     TRIES\n🇯🇵 東京      3\nOsaka       12\n',
  );
});

test('no text of comma-separated values is a formula to a spreadsheet', () => {
  for (const [text, cell] of [
    ['ann', 'ann'],
    ['', ''],
    ['a=1', 'a=1'],
    ['(other)', '(other)'],
    ["=cmd|' /C calc'!A0", `"'=cmd|' /C calc'!A0"`],
    ['=HYPERLINK("x")', `"'=HYPERLINK(""x"")"`],
    ['+1', `"'+1"`],
    ['-1', `"'-1"`],
    ['@SUM(A1)', `"'@SUM(A1)"`],
    ['＝1', `"'＝1"`],
    ['\t=1', String.raw`\u{9}=1`],
    ['\r=1', String.raw`\u{d}=1`],
    ['\n=1', String.raw`\u{a}=1`],
    ['a;=1', '"a;=1"'],
    ['a,"=1', '"a,""=1"'],
  ] as const) {
    assert.equal(csvTable([[text, -1]]), `${cell},-1\r\n`);
  }
});
