import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock, Turns } from '@weir/io/time';
import {
  RegexCache,
  RegexError,
  checkRegex,
} from '../../../../../src/engine/router/tables/regex-set.ts';

const sorted = (indices: number[]): number[] => indices.toSorted((a, b) => a - b);

test('a valid pattern has no error text', () => {
  assert.equal(checkRegex('^ads?\\.'), undefined);
  assert.equal(checkRegex(''), undefined);
});

test('an invalid pattern gets the text that the Rust engine prints', () => {
  assert.equal(checkRegex('a('), 'regex parse error:\n    a(\n     ^\nerror: unclosed group');
});

test('the dialect is that of Rust: no look-around and no back-references', () => {
  assert.match(checkRegex('a(?=b)') ?? '', /look-around/);
  assert.match(checkRegex('(a)\\1') ?? '', /backreferences are not supported/);
  assert.equal(checkRegex('(?i)\\pL+'), undefined);
});

test('a pattern that compiles to more than the engine allows is refused', () => {
  assert.match(checkRegex('a{1000}{1000}{100}') ?? '', /exceeds size limit/);
});

test('the cache returns the same verdicts every time', () => {
  const cache = new RegexCache();
  for (let i = 0; i < 2; i++) {
    assert.equal(cache.check('ok'), undefined);
    assert.match(cache.check('(') ?? '', /unclosed group/);
  }
});

test('a set returns which of its patterns match', () => {
  const set = new RegexCache().compile(['^ad', 'x', '\\.example$', 'b']);
  assert.deepEqual(sorted(set.matches('ad.b.example')), [0, 1, 2, 3]);
  assert.deepEqual(sorted(set.matches('road')), []);
  assert.deepEqual(sorted(new RegexCache().compile([]).matches('road')), []);
});

test('lists longer than one compiled set keep their positions', () => {
  const patterns = Array.from({ length: 2500 }, (_, i) => `^p${i}$`);
  const set = new RegexCache().compile(patterns);
  for (const i of [0, 999, 1000, 2499]) assert.deepEqual(set.matches(`p${i}`), [i]);
});

test('patterns are compiled in turns', async () => {
  // On a clock of which every look takes longer than a stretch.
  let now = 0;
  const clock = { ...systemClock, now: () => (now += 10) };
  const cache = new RegexCache();
  const patterns = Array.from({ length: 2500 }, (_, i) => `^p${i}$`);
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns++;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  const set = await new Turns(clock).run(cache.compileInSteps(patterns));
  done = true;
  assert.ok(turns >= 10, `${turns} turns`);
  assert.deepEqual(set.matches('p2499'), [2499]);
  const invalid = cache.compileInSteps(['a', 'b(']);
  await assert.rejects(new Turns(clock).run(invalid), RegexError);
});

test('patterns that are too large together are compiled apart', () => {
  const patterns = Array.from({ length: 12 }, (_, i) => `^\\w{20}${i}x$`);
  assert.deepEqual(new RegexCache().compile(patterns).matches(`${'a'.repeat(20)}7x`), [7]);
});

test('an invalid pattern in a list is named', () => {
  assert.throws(
    () => new RegexCache().compile(['a', 'b(', 'c']),
    (error) =>
      error instanceof RegexError && error.pattern === 'b(' && /unclosed/.test(error.message),
  );
});

test('a changed list matches what it holds now, in its own positions', () => {
  const cache = new RegexCache();
  cache.compile(['a', 'b', 'c']);
  const set = cache.compile(['new', 'c', 'a']);
  assert.deepEqual(sorted(set.matches('new cab')), [0, 1, 2]);
  assert.deepEqual(set.matches('b'), []);
});

test('a list that grew one pattern at a time matches as one that was written at once', () => {
  const cache = new RegexCache();
  const patterns: string[] = [];
  for (let i = 0; i < 40; i++) {
    patterns.push(`^${i}$`);
    const set = cache.compile(patterns);
    assert.deepEqual(set.matches(`${i}`), [i]);
    assert.deepEqual(set.matches('0'), [0]);
  }
});

test('what has been compiled is looked up in steps, too', () => {
  const cache = new RegexCache();
  const patterns = Array.from({ length: 2500 }, (_, i) => `^p${i}$`);
  cache.compile(patterns);
  const again = cache.compileInSteps(patterns);
  let steps = 0;
  while (!again.next().done) steps++;
  assert.ok(steps >= 2 * 2500, `${steps} steps`);
});
