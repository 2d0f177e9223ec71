import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, test } from 'node:test';
import {
  MemoryKeeper,
  OwnMemory,
  type ProcessMemory,
  residentBytes,
} from '../../../../src/platform/process/memory.ts';

const MODULE = new URL('../../../../src/platform/process/memory.ts', import.meta.url).href;

/**
 * Runs in a process of its own, whose heap and `malloc` nothing else uses; prints resident memory in MB.
 * Every hundredth of the chunks stays, as do connections that are open: without a trim, `malloc`
 * returns only what is above the last of them.
 */
const PROGRAM = `
  import { setTimeout as sleep } from 'node:timers/promises';
  import { OwnMemory } from ${JSON.stringify(MODULE)};
  const memory = new OwnMemory();
  const resident = () => memory.residentBytes() / (1 << 20);
  const before = resident();
  let all = Array.from({ length: 20_000 }, (_, i) => ({ bytes: new Uint8Array(8000).fill(1), i }));
  let kept = all.filter(({ i }) => i % 100 === 0);
  const most = resident();
  all = undefined;
  for (let i = 0; i < 100 && resident() > before + 40; i++) {
    memory.saveMemory(true);
    memory.collect();
    await sleep(100);
    memory.saveMemory(false);
    memory.trim();
  }
  const released = resident();
  for (const part of ['text', 'all', 'all']) memory.forgetProgram(part);
  const forgotten = resident();
  let sum = 0;
  for (const { bytes } of kept) sum += bytes[bytes.length - 1];
  console.log(JSON.stringify({ before, most, released, forgotten, sum }));
`;

interface Printed {
  readonly before: number;
  readonly most: number;
  readonly released: number;
  readonly forgotten: number;
  readonly sum: number;
}

test(
  'a collection and a trim return what connections have used, while others stay',
  { skip: process.platform !== 'linux' && 'Linux only' },
  () => {
    const args = ['--input-type=module', '--eval', PROGRAM];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.match(stdout, /^\{/, stderr);
    const { before, most, released, forgotten, sum } = JSON.parse(stdout) as Printed;
    assert.ok(most > before + 120, `grown to ${most} MB`);
    assert.ok(released <= before + 40, `${before} MB, ${released} MB afterwards`);
    assert.ok(forgotten <= released, `${forgotten} of ${released} MB`);
    assert.equal(sum, 200);
  },
);

/** Prints the page faults of twenty turns that read 24 MB of many flows, and of as many after `keepFreed`. */
const TURNS = `
  import { OwnMemory } from ${JSON.stringify(MODULE)};
  const turn = () => {
    const chunks = Array.from({ length: 192 }, () => new Uint8Array(128 << 10).fill(1));
    for (const { buffer } of chunks) buffer.transfer(0);
  };
  const faults = () => {
    turn();
    const before = process.resourceUsage().minorPageFault;
    for (let i = 0; i < 20; i++) turn();
    return process.resourceUsage().minorPageFault - before;
  };
  const returned = faults();
  new OwnMemory().keepFreed();
  console.log(JSON.stringify({ returned, kept: faults() }));
`;

test(
  'what flows free is kept for the next ones',
  { skip: process.platform !== 'linux' && 'Linux only' },
  () => {
    // The default of glibc, which the start of Node has raised, by how much depends on the machine.
    const env = { ...process.env, GLIBC_TUNABLES: 'glibc.malloc.trim_threshold=131072' };
    const args = ['--input-type=module', '--eval', TURNS];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
    assert.match(stdout, /^\{/, stderr);
    const { returned, kept } = JSON.parse(stdout) as { returned: number; kept: number };
    // 24 MB are 6,144 pages of 4 KB, or 384 of 64 KB.
    assert.ok(returned > 20 * 320, `${returned} faults where it is returned`);
    assert.ok(kept < returned / 20, `${kept} faults, ${returned} where it is returned`);
  },
);

test('resident memory that cannot be read is what it was last', (t) => {
  const before = residentBytes();
  assert.ok(before > 0);
  // As libuv does for a process that may open no more files.
  t.mock.method(process.memoryUsage, 'rss', () => {
    throw Object.assign(new Error('uv_resident_set_memory'), { code: 'EMFILE' });
  });
  assert.equal(residentBytes(), before);
  assert.equal(new OwnMemory().residentBytes(), before);
});

const MB = 1 << 20;

/** A process whose figures the test sets; it notes what is done to it, and counts trims. */
class FakeProcess implements ProcessMemory {
  processor = 1000;
  resident = 80 * MB;
  /** Garbage of the heap, which is resident. */
  garbage = 0;
  /** The old generation, garbage included. */
  old = 10 * MB;
  /** What of it lives. */
  live = 10 * MB;
  /** Free within the memory of malloc, and resident. */
  unused = 0;
  /** What a collection and a trim take, in milliseconds. */
  collectionMs = 20;
  trimMs = 2;
  trims = 0;
  keptFreed = 0;
  did: string[] = [];

  processorMs(): number {
    return this.processor;
  }

  residentBytes(): number {
    return this.resident;
  }

  oldHeapBytes(): number {
    return this.old;
  }

  trim(): void {
    this.trims++;
    this.processor += this.trimMs;
    this.resident -= this.unused;
    this.unused = 0;
  }

  keepFreed(): void {
    this.keptFreed++;
  }

  collect(): void {
    this.did.push('collect');
    this.processor += this.collectionMs;
    this.old = this.live;
    this.resident -= this.garbage;
    this.garbage = 0;
  }

  saveMemory(saves: boolean): void {
    this.did.push(saves ? 'save' : 'keep');
  }

  forgetProgram(part: 'text' | 'all'): void {
    this.did.push(`forget ${part}`);
  }

  /** Connections take memory from the system. */
  open(bytes: number): void {
    this.resident += bytes;
  }

  /** Connections that close give memory to malloc. */
  close(bytes: number): void {
    this.unused += bytes;
  }
}

/** A process with its keeper, in virtual time; it has released what its start has used. */
class Kept {
  readonly own = new FakeProcess();
  readonly #keeper = new MemoryKeeper(this.own);
  /** Until the next look. */
  #left = 0;

  constructor() {
    assert.deepEqual(this.pass(0.1), ['forget text']);
    assert.deepEqual(this.pass(0.9), ['forget all']);
    assert.deepEqual(this.pass(20), ['forget all', 'forget all', ...RELEASE]);
  }

  /** Lets time pass, of which the process works a part; returns what was done. */
  pass(seconds: number, part = 0): string[] {
    this.own.did = [];
    const STEP_MS = 100;
    for (let time = 0; time < seconds * 1000; time += STEP_MS) {
      this.own.processor += part * STEP_MS;
      this.#left -= STEP_MS;
      if (this.#left <= 0) this.#left = this.#keeper.look();
    }
    return this.own.did;
  }
}

const RELEASE = ['save', 'collect', 'keep', 'forget all'];
const WORKS = 0.9;

suite('memory is released', () => {
  test('once after the start, and not while nothing happens', () => {
    const kept = new Kept();
    assert.deepEqual(kept.pass(1000), []);
    assert.equal(kept.own.keptFreed, 1);
  });

  test('once after a burst, when the process has rested', () => {
    const kept = new Kept();
    assert.deepEqual(kept.pass(5, WORKS), []);
    assert.deepEqual(kept.pass(2), []);
    assert.deepEqual(kept.pass(4), RELEASE);
    assert.deepEqual(kept.pass(1000), []);
  });

  test('again when that has returned much, until it returns no more', () => {
    const kept = new Kept();
    kept.own.open(100 * MB);
    kept.own.garbage = 100 * MB;
    kept.pass(5, WORKS);
    assert.deepEqual(kept.pass(1000), [...RELEASE, ...RELEASE]);
  });

  test('the collection is ended also when the process works again', () => {
    const kept = new Kept();
    kept.pass(1, WORKS);
    while (!kept.pass(0.1).includes('collect'));
    assert.deepEqual(kept.pass(5, WORKS), ['keep', 'forget all']);
  });

  test('after little work only when some time has passed', () => {
    const kept = new Kept();
    kept.pass(5, WORKS);
    assert.deepEqual(kept.pass(5), RELEASE);
    // Connections that were held close.
    assert.deepEqual(kept.pass(0.1, WORKS), []);
    assert.deepEqual(kept.pass(4), []);
    assert.deepEqual(kept.pass(10), RELEASE);
    assert.deepEqual(kept.pass(1000), []);
  });

  test('when connections close that were held, although that release took long', () => {
    const kept = new Kept();
    const { own } = kept;
    own.collectionMs = 200;
    own.open(400 * MB);
    kept.pass(10, WORKS);
    assert.deepEqual(kept.pass(10), RELEASE);
    own.close(300 * MB);
    own.garbage = 100 * MB;
    assert.deepEqual(kept.pass(1, WORKS), []);
    own.collectionMs = 20;
    assert.ok(kept.pass(30).includes('collect'));
    assert.equal(own.resident, 80 * MB);
  });

  test('at no more than a five-hundredth of the time for a process with little work', () => {
    const kept = new Kept();
    const SECONDS = 10_000;
    const releases = kept.pass(SECONDS, 0.01).filter((what) => what === 'collect').length;
    assert.ok(releases > 0);
    const { collectionMs, trimMs } = kept.own;
    const share = (releases * (collectionMs + trimMs)) / (SECONDS * 1000);
    assert.ok(share <= 1 / 500, String(share));
  });

  test('at no more than a fifth of the processor time and a hundredth of the time', () => {
    for (const collectionMs of [20, 200, 2000]) {
      const kept = new Kept();
      const { own } = kept;
      own.collectionMs = collectionMs;
      // The first release that takes so long.
      kept.pass(10, WORKS);
      kept.pass(10);
      const before = own.processor;
      let spent = 0;
      const BURSTS = 1000;
      for (let burst = 0; burst < BURSTS; burst++) {
        own.open(50 * MB);
        const did = kept.pass(0.3, WORKS);
        own.garbage += 50 * MB;
        const times = [...did, ...kept.pass(5)].filter((what) => what === 'collect').length;
        spent += times * (own.collectionMs + own.trimMs);
      }
      const most = (own.processor - before) / 5 + (BURSTS * 5300) / 100;
      assert.ok(spent > 0 && spent <= most, `${collectionMs} ms: ${spent} of ${most}`);
    }
  });
});

suite('what malloc got back is returned while the process works', () => {
  test('each second', () => {
    const kept = new Kept();
    const { own } = kept;
    for (let burst = 0; burst < 3; burst++) {
      own.open(50 * MB);
      own.close(20 * MB);
      kept.pass(1, WORKS);
      assert.equal(own.resident, (80 + 30 * (burst + 1)) * MB);
    }
  });

  test('each 300 ms of processor time when it works little', () => {
    const kept = new Kept();
    const { trims } = kept.own;
    kept.pass(100, 0.12);
    assert.equal(kept.own.trims - trims, 33);
  });

  test('at no more than a fiftieth of the processor time', () => {
    for (const trimMs of [1, 10, 40, 100]) {
      const kept = new Kept();
      const { own } = kept;
      own.trimMs = trimMs;
      kept.pass(10, WORKS);
      const { processor, trims } = own;
      kept.pass(1000, WORKS);
      const share = ((own.trims - trims) * trimMs) / (own.processor - processor);
      assert.ok(share > 0 && share <= 1 / 50, `${trimMs} ms: ${share}`);
    }
  });
});

suite('the old generation is collected while the process works', () => {
  const COLLECTION = ['collect'];

  test('each time it has grown by 16 MB', () => {
    const { own, pass } = worked();
    for (let i = 0; i < 3; i++) {
      own.old += 15 * MB;
      assert.deepEqual(pass(1), []);
      own.old += MB;
      assert.deepEqual(pass(2), COLLECTION);
      assert.equal(own.old, own.live);
    }
  });

  test('when it has doubled, where more lives', () => {
    const { own, pass } = worked();
    own.live = 100 * MB;
    own.old = 120 * MB;
    assert.deepEqual(pass(2), COLLECTION);
    own.old += 90 * MB;
    assert.deepEqual(pass(1), []);
    own.old += 10 * MB;
    assert.deepEqual(pass(2), COLLECTION);
  });

  test('from what V8 has left when it collected by itself', () => {
    const { own, pass } = worked();
    own.live = own.old = 100 * MB;
    pass(2);
    own.live = own.old = 10 * MB;
    assert.deepEqual(pass(2), []);
    own.old += 16 * MB;
    assert.deepEqual(pass(2), COLLECTION);
  });

  function worked(): { own: FakeProcess; pass: (seconds: number) => string[] } {
    const kept = new Kept();
    kept.pass(5, WORKS);
    return { own: kept.own, pass: (seconds) => kept.pass(seconds, WORKS) };
  }
});

/** Runs in a process of its own, since the flag cannot be taken back; prints sizes in bytes. */
const YOUNG_HEAP_PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { boundYoungHeap } from ${JSON.stringify(MODULE)};
  const size = () => getHeapSpaceStatistics()
    .find(({ space_name }) => space_name === 'new_space').physical_space_size;
  const kept = [];
  const survive = () => kept.push({ index: kept.length, list: [kept.length] });
  while (!boundYoungHeap()) for (let i = 0; i < 1000; i++) survive();
  const bounded = size();
  for (let i = 0; i < 1_000_000; i++) survive();
  console.log(JSON.stringify({ bounded, after: size() }));
`;

test('the young heap grows to what is enough and no further, however much survives', () => {
  const args = ['--input-type=module', '--eval', YOUNG_HEAP_PROGRAM];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.match(stdout, /^\{/, stderr);
  const { bounded, after } = JSON.parse(stdout) as { bounded: number; after: number };
  // The spaces that it has are only committed as they fill; V8's own bound is six times as much.
  assert.ok(after <= 2 * bounded, `${after} of ${bounded} bytes`);
});
