import assert from 'node:assert/strict';
import { test } from 'node:test';
import { span, type Line } from '../../../src/top/line.ts';
import { Screen } from '../../../src/top/screen.ts';
import { FakeTerminal } from '../../../../../test/support/top/terminal.ts';

const linesOf = (...texts: readonly string[]): readonly Line[] => texts.map((text) => [span(text)]);

function start(columns = 20, rows = 4) {
  const terminal = new FakeTerminal(columns, rows);
  const screen = new Screen(terminal, 'all');
  screen.enter();
  return { terminal, screen };
}

test('it shows lines on the alternate screen, and gives the usual one back', async () => {
  const { terminal, screen } = start();
  screen.show(linesOf('one', 'two'));
  assert.deepEqual(await terminal.lines(), ['one', 'two', '', '']);
  assert.deepEqual(await terminal.modes(), { isAlternate: true, wraps: false });
  await screen.leave();
  terminal.volume();
  await screen.leave();
  assert.equal(terminal.volume(), 0);
  assert.deepEqual(await terminal.lines(), ['', '', '', '']);
  assert.deepEqual(await terminal.modes(), { isAlternate: false, wraps: true });
});

test('a frame is one write of synchronised output, with the changed lines alone', () => {
  const { terminal, screen } = start();
  screen.show(linesOf('one', 'two', 'three'));
  terminal.volume();
  screen.show(linesOf('one', 'TWO', 'three'));
  assert.deepEqual(terminal.writes, ['\x1b[?2026h\x1b[2;1HTWO\x1b[K\x1b[?2026l']);
});

test('a frame like the one before writes nothing', () => {
  const { terminal, screen } = start();
  screen.show(linesOf('one', 'two'));
  terminal.volume();
  for (let i = 0; i < 100; i++) screen.show(linesOf('one', 'two'));
  assert.equal(terminal.volume(), 0);
});

test('a shorter line clears the rest of its row, and a full one keeps its last column', async () => {
  const { terminal, screen } = start(5);
  screen.show(linesOf('12345', 'abcdefgh', '漢字字'));
  assert.deepEqual(await terminal.lines(), ['12345', 'abcd…', '漢字…', '']);
  screen.show(linesOf('12', 'x', ''));
  assert.deepEqual(await terminal.lines(), ['12', 'x', '', '']);
});

test('a name that the terminal draws wider than it was measured stays on its row', async () => {
  const { terminal, screen } = start(8);
  // A family: two columns where emoji are joined, six and more where they are not.
  screen.show(linesOf('👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 'next'));
  const [, second, third] = await terminal.lines();
  assert.deepEqual([second, third], ['next', '']);
});

test('another size is drawn whole', async () => {
  const { terminal, screen } = start();
  screen.show(linesOf('one', 'two', 'three', 'four'));
  for (const [columns, rows] of [
    [10, 2],
    [40, 6],
  ] as const) {
    terminal.resize(columns, rows);
    screen.show(linesOf('one', 'two', 'three', 'four'));
    const expected = ['one', 'two', 'three', 'four', '', ''].slice(0, rows);
    assert.deepEqual(await terminal.lines(), expected);
  }
});

test('after redraw everything is written, also over what others have written', async () => {
  const { terminal, screen } = start();
  screen.show(linesOf('one', 'two'));
  terminal.write('broadcast message');
  screen.redraw();
  screen.show(linesOf('one', 'two'));
  assert.deepEqual(await terminal.lines(), ['one', 'two', '', '']);
});

test('while the terminal takes nothing frames are skipped, and the newest follows', async () => {
  const { terminal, screen } = start();
  screen.show(linesOf('frame 0'));
  terminal.isSlow = true;
  terminal.volume();
  for (let i = 1; i <= 1_000; i++) screen.show(linesOf(`frame ${i}`));
  assert.equal(terminal.waiting, 1);
  terminal.isSlow = false;
  terminal.take();
  assert.deepEqual(await terminal.lines(), ['frame 1000', '', '', '']);
  assert.equal(terminal.writes.length, 2);
});

test('nothing is written before it has the terminal, and nothing after', async () => {
  const terminal = new FakeTerminal();
  const screen = new Screen(terminal, 'all');
  screen.show(linesOf('one'));
  assert.equal(terminal.volume(), 0);
  screen.enter();
  terminal.isSlow = true;
  screen.show(linesOf('two'));
  screen.show(linesOf('three'));
  const left = screen.leave();
  terminal.isSlow = false;
  terminal.take();
  await left;
  screen.show(linesOf('four'));
  assert.ok(!/three|four/.test(terminal.writes.join('')));
});
