import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { MemoryKeeper } from '../../../../src/platform/process/memory-keeper.ts';
import type { ProcessMemory } from '../../../../src/platform/process/process-memory.ts';

const MB = 1 << 20;

/** A process whose figures the test sets; it notes what is done to it. */
class FakeProcess implements ProcessMemory {
  processor = 1000;
  resident = 80 * MB;
  /** Free within the memory of malloc: resident, and returned. */
  unused = 0;
  returned = 0;
  /** What a collection and a trim take, in milliseconds. */
  collectionMs = 20;
  trimMs = 2;
  did: string[] = [];

  readonly processorMs = (): number => this.processor;
  readonly residentBytes = (): number => this.resident;
  freeBytes(): number {
    return this.unused + this.returned;
  }

  trim(): void {
    this.did.push('trim');
    this.processor += this.trimMs;
    this.resident -= this.unused;
    this.returned += this.unused;
    this.unused = 0;
  }

  startCollection(): void {
    this.did.push('start');
    this.processor += this.collectionMs;
  }

  endCollection(): void {
    this.did.push('end');
  }

  forgetProgramPages(): void {
    this.did.push('forget');
  }
}

const RELEASE = ['start', 'end', 'trim', 'forget'];

/** A keeper that has released what the start has used. */
function started(): { readonly own: FakeProcess; readonly look: (worked?: number) => string[] } {
  const own = new FakeProcess();
  const keeper = new MemoryKeeper(own);
  const look = (worked = 0): string[] => {
    own.did = [];
    own.processor += worked;
    keeper.look();
    return own.did;
  };
  const did = Array.from({ length: 20 }, () => look()).flat();
  assert.deepEqual(did, RELEASE);
  return { own, look };
}

const looks = (count: number, look: () => string[]): string[] =>
  Array.from({ length: count }, look).flat();

suite('memory is released', () => {
  test('once after the start, and not while nothing happens', () => {
    const { look } = started();
    assert.deepEqual(
      looks(1000, () => look()),
      [],
    );
  });

  test('once after a burst, when the process has rested', () => {
    const { look } = started();
    assert.deepEqual(
      looks(5, () => look(900)),
      [],
    );
    assert.deepEqual([look(), look()], [[], []]);
    assert.deepEqual(look(), ['start']);
    assert.deepEqual(look(), ['end', 'trim', 'forget']);
    assert.deepEqual(
      looks(1000, () => look()),
      [],
    );
  });

  test('the collection is ended also when the process works again', () => {
    const { look } = started();
    look(900);
    assert.deepEqual(
      looks(3, () => look()),
      ['start'],
    );
    assert.deepEqual(look(900), ['end', 'trim', 'forget']);
  });

  test('after little work at a time, when it has become enough', () => {
    const { look } = started();
    const at: number[] = [];
    const LOOKS = 400;
    for (let i = 0; i < LOOKS; i++) if (look(1).includes('start')) at.push(i);
    assert.equal(at.length, 1);
    assert.ok((at[0] ?? 0) >= 200, String(at[0]));
  });

  test('at no more than a tenth of the processor time, however long it takes', () => {
    for (const collectionMs of [20, 200, 2000]) {
      const { own, look } = started();
      own.collectionMs = collectionMs;
      // The first release since it takes so long.
      look(5000);
      looks(10, () => look());
      const before = own.processor;
      let count = 0;
      const LOOKS = 10_000;
      for (let i = 0; i < LOOKS; i++) {
        // Bursts of 300 ms, each followed by a rest.
        if (look(i % 5 === 0 ? 300 : 0).includes('start')) count++;
      }
      assert.ok(count > 0);
      const share = (count * (own.collectionMs + own.trimMs)) / (own.processor - before);
      assert.ok(share < 0.11, `${collectionMs} ms: ${share}`);
    }
  });
});

/** Connections take memory from the system and from what was returned. */
function open(own: FakeProcess, bytes: number): void {
  own.resident += bytes;
  own.returned = Math.max(0, own.returned - bytes);
}

/** Connections that close give memory to malloc. */
function close(own: FakeProcess, bytes: number): void {
  own.unused += bytes;
}

suite('what malloc got back is returned while the process works', () => {
  test('in portions, at every burst', () => {
    const { own, look } = started();
    for (let burst = 0; burst < 3; burst++) {
      for (let i = 0; i < 4; i++) {
        open(own, 50 * MB);
        assert.deepEqual(look(900), []);
      }
      close(own, 20 * MB);
      assert.deepEqual(look(900), []);
      close(own, 40 * MB);
      assert.deepEqual(look(900), ['trim']);
      assert.deepEqual(look(900), []);
      close(own, 140 * MB);
      assert.deepEqual(
        looks(5, () => look()),
        ['start', 'end', 'trim', 'forget'],
      );
      assert.equal(own.resident, 80 * MB);
    }
  });

  test('and not asked for while the resident memory has not grown', () => {
    const { own, look } = started();
    open(own, 10 * MB);
    own.freeBytes = () => assert.fail('asked');
    assert.deepEqual(
      looks(100, () => look(900)),
      [],
    );
  });

  test('at no more than a tenth of the processor time', () => {
    const { own, look } = started();
    own.trimMs = 40;
    const before = own.processor;
    let trims = 0;
    const LOOKS = 1000;
    for (let i = 0; i < LOOKS; i++) {
      open(own, 60 * MB);
      trims += look(75).length;
      close(own, 60 * MB);
      trims += look(75).length;
    }
    assert.ok(trims > 0);
    const share = (trims * own.trimMs) / (own.processor - before);
    assert.ok(share < 0.11, String(share));
  });
});
