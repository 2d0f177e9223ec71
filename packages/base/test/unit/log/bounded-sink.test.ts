import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedSink, type LostNotice } from '../../../src/log/output.ts';

/** A sink of 10 bytes over a device whose writes end when the test says so. */
function subject(notice: LostNotice = (lost) => `-${lost}\n`, limit = 10) {
  const written: string[] = [];
  let finish: ((error?: Error, bytes?: number) => void) | undefined;
  const sink = new BoundedSink(
    {
      terminal: false,
      write(text, done) {
        assert.equal(finish, undefined, 'one write at a time');
        written.push(text);
        finish = done;
      },
    },
    notice,
    limit,
  );
  const end = (error?: Error, bytes?: number): void => {
    const done = finish;
    finish = undefined;
    done?.(error, bytes);
  };
  return { sink, written, end };
}

test('a line is written at once, and those that come meanwhile together after it', () => {
  const { sink, written, end } = subject();
  for (const line of ['a\n', 'b\n', 'c\n']) sink.write(line);
  assert.deepEqual(written, ['a\n']);
  end();
  assert.deepEqual(written, ['a\n', 'b\nc\n']);
  end();
  sink.write('d\n');
  assert.deepEqual(written, ['a\n', 'b\nc\n', 'd\n']);
});

test('lines beyond the limit are dropped and counted where the gap is', () => {
  const { sink, written, end } = subject();
  sink.write('aaaa\n');
  sink.write('bbbb\n');
  sink.write('cccc\n');
  sink.write('d\n');
  end();
  sink.write('e\n'); // it would fit, but stands behind the gap
  assert.deepEqual(written, ['aaaa\n', 'bbbb\n']);
  end();
  sink.write('f\n');
  end();
  assert.deepEqual(written, ['aaaa\n', 'bbbb\n', '-3\n', 'f\n']);
});

test('the limit counts bytes, and a line that is longer is dropped', () => {
  const { sink, written, end } = subject();
  sink.write('äääää\n');
  assert.deepEqual(written, []);
  sink.write('a\n');
  end();
  assert.deepEqual(written, ['-1\na\n']);
});

test('lines that a failed write has lost are reported with the next line', () => {
  const { sink, written, end } = subject();
  sink.write('a\n');
  sink.write('b\n');
  end(new Error('no space left'));
  end(new Error('no space left'));
  assert.deepEqual(written, ['a\n', 'b\n']);
  sink.write('c\n');
  end();
  assert.deepEqual(written, ['a\n', 'b\n', '-2\nc\n']);
});

const FULL = new Error('no space left');

test('a report that is lost itself is made again, and is no line', () => {
  const { sink, written, end } = subject();
  for (let line = 0; line < 100; line++) {
    sink.write(`${line}\n`);
    end(FULL);
  }
  assert.equal(written.at(-1), '-99\n99\n');
  assert.equal(sink.lost, 100);
  sink.write('a\n');
  end();
  assert.equal(written.at(-1), '-100\na\n');
  sink.write('b\n');
  end();
  assert.equal(written.at(-1), 'b\n');
  assert.equal(sink.lost, 100);
});

test('lines that wait behind a failed write are written, and then the report', () => {
  const { sink, written, end } = subject();
  sink.write('a\n');
  sink.write('bbbb\n');
  sink.write('cccc\n'); // dropped
  end(FULL);
  assert.deepEqual(written, ['a\n', 'bbbb\n']);
  end();
  assert.deepEqual(written, ['a\n', 'bbbb\n', '-2\n']);
  end();
  sink.write('d\n');
  assert.deepEqual(written.at(-1), 'd\n');
  assert.equal(sink.lost, 2);
});

test('lines that a failed write has taken are not lost, and what follows a part of one begins a line', () => {
  const { sink, written, end } = subject(undefined, 100);
  sink.write('first\n');
  for (const line of ['a\n', 'ä\n', 'c\n', 'd\n']) sink.write(line);
  end();
  end(FULL, 6); // a, ä and a part of c
  assert.equal(sink.lost, 2);
  sink.write('e\n');
  assert.equal(written.at(-1), '\n-2\ne\n');
  end(FULL, 4); // the report, and nothing of e
  sink.write('f\n');
  assert.equal(written.at(-1), '-1\nf\n');
  end();
  assert.equal(sink.lost, 3);
});

test('a report has the error of a failed write, and none where the device was only slow', () => {
  const { sink, written, end } = subject((lost, error) => `${lost} ${error?.message}\n`);
  sink.write('a\n');
  end(FULL);
  sink.write('bbbb\n');
  sink.write('cccc\n');
  sink.write('d\n');
  end();
  end();
  end();
  assert.deepEqual(written, ['a\n', '1 no space left\nbbbb\n', 'cccc\n', '1 undefined\n']);
});

test('without a notice the gap is silent', () => {
  const { sink, written, end } = subject(() => '');
  sink.write('aaaa\n');
  sink.write('bbbb\n');
  sink.write('c\n');
  end();
  end();
  sink.write('d\n');
  assert.deepEqual(written, ['aaaa\n', 'bbbb\n', 'd\n']);
});

test('a flush ends when the backlog has been written or is lost', async () => {
  const { sink, end } = subject();
  await sink.flushed();
  for (const outcome of [undefined, new Error('gone')]) {
    sink.write('a\n');
    sink.write('b\n');
    let over = false;
    const flushed = sink.flushed().then(() => (over = true));
    end();
    await Promise.resolve();
    assert.equal(over, false);
    end(outcome);
    await flushed;
  }
});
