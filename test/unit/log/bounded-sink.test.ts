import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedSink } from '../../../src/log/bounded-sink.ts';

/** A sink of 10 bytes over a device whose writes end when the test says so. */
function subject(notice: (dropped: number) => string = (dropped) => `-${dropped}\n`) {
  const written: string[] = [];
  let finish: ((error?: Error) => void) | undefined;
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
    10,
  );
  const end = (error?: Error): void => {
    const done = finish;
    finish = undefined;
    done?.(error);
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
