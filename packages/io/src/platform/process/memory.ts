import { readFileSync } from 'node:fs';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { openSelf } from '../native.ts';

/** The operations on the process that a `MemoryKeeper` uses. */
export interface ProcessMemory {
  /** Returns the processor time of all threads so far, in milliseconds. */
  processorMs(): number;
  /** Returns the resident memory in bytes; the last known value while the process has no descriptor left to read it. */
  residentBytes(): number;
  /** Returns the bytes in use in the old generation of the heap. */
  oldHeapBytes(): number;
  /** Returns free memory of `malloc` to the system; 0.14 ms per MB. */
  trim(): void;
  /** Lets `malloc` keep what flows free, until `trim`. */
  keepFreed(): void;
  /** Starts a collection of the whole heap, which V8 does in steps between other work. */
  collect(): void;
  /**
   * Sets whether V8 releases empty pages instead of keeping them for later. It then collects all the time in a process
   * that works.
   */
  saveMemory(saves: boolean): void;
  /**
   * Removes pages of Node's program file from the resident memory, of its text alone or also of its constants; the
   * latter takes 5 ms longer the first time. Pages in use return from the page cache, at a microsecond for 64 KB.
   */
  forgetProgram(part: 'text' | 'all'): void;
}

/** Bytes of external memory that make V8 start a collection: above its limit of 64 MB. */
const COLLECTION_TRIGGER = 96 << 20;

/** `MADV_DONTNEED` of <sys/mman.h>. */
const DONTNEED = 4;

/** Parameters of mallopt(3), of <malloc.h>. */
const M_TRIM_THRESHOLD = -1;
const M_MMAP_THRESHOLD = -3;
/**
 * Bytes that `malloc` keeps free at the end of its heap. It would otherwise return what many flows have read in a turn of
 * the event loop, and get it back in the next, page by page: a third of the time of 64 streams of a tunnel. Trojan needs
 * 4 MB of it, gRPC 32, as its chunks wait for windows.
 */
const KEPT_BYTES = 32 << 20;
/** Bytes from which on memory comes from the system and returns to it at once. Once one of the two is set, neither adapts. */
const LARGE_BYTES = 1 << 20;

/** A range of addresses. */
interface Range {
  readonly at: number;
  readonly length: number;
}

/** Functions of the C library; those that it lacks are `undefined`. */
interface Functions {
  readonly trim: ((pad: number) => number) | undefined;
  readonly tune: ((parameter: number, value: number) => number) | undefined;
  readonly advise: ((at: number, length: number, advice: number) => number) | undefined;
}

let lastResident = 0;

/**
 * Returns the resident memory in bytes. libuv reads a file for this, which a process without free descriptors cannot
 * open.
 */
export function residentBytes(): number {
  try {
    lastResident = process.memoryUsage.rss();
  } catch {
    // Keeps the last value: the next call may succeed.
  }
  return lastResident;
}

/** The memory of this process. */
export class OwnMemory implements ProcessMemory {
  #functions: Functions | undefined;
  #program: readonly Range[] | undefined;

  processorMs(): number {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }

  residentBytes(): number {
    return residentBytes();
  }

  oldHeapBytes(): number {
    const old = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space');
    return old?.space_used_size ?? 0;
  }

  trim(): void {
    this.#bound().trim?.(0);
  }

  keepFreed(): void {
    const { tune } = this.#bound();
    tune?.(M_TRIM_THRESHOLD, KEPT_BYTES);
    tune?.(M_MMAP_THRESHOLD, LARGE_BYTES);
  }

  collect(): void {
    try {
      // The memory is never touched. V8 accounts for it, and starts a collection, because the heap might keep so much
      // alive. There is no other way that does not stop the process for the whole collection.
      new ArrayBuffer(COLLECTION_TRIGGER).transfer(0);
    } catch {
      // The address space is limited: V8 collects when it needs to.
    }
  }

  saveMemory(saves: boolean): void {
    setFlagsFromString(saves ? '--memory-saver-mode' : '--no-memory-saver-mode');
  }

  forgetProgram(part: 'text' | 'all'): void {
    const { advise } = this.#bound();
    if (!advise) return;
    const ranges = part === 'text' ? programText() : (this.#program ??= constantProgram());
    for (const { at, length } of ranges) advise(at, length, DONTNEED);
  }

  #bound(): Functions {
    return (this.#functions ??= bindFunctions());
  }
}

function bindFunctions(): Functions {
  if (process.platform !== 'linux') {
    return { trim: undefined, tune: undefined, advise: undefined };
  }
  const optional = <F>(bind: () => F): F | undefined => {
    try {
      return bind();
    } catch {
      return undefined; // Not glibc, or no native functions on this machine.
    }
  };
  return {
    trim: optional(() => openSelf().func('int malloc_trim(size_t pad)')),
    tune: optional(() => openSelf().func('int mallopt(int parameter, int value)')),
    advise: optional(() => openSelf().func('int madvise(uintptr_t at, size_t length, int advice)')),
  };
}

/** Returns the text mappings of the program file, which are never written to: /proc/self/maps (proc(5)). */
const programText = (): Range[] =>
  readSelf('maps')
    .split('\n')
    .flatMap((line) => programRange(line, 'r-xp') ?? []);

/**
 * Returns the mappings of the program file that are not writable and have no page of their own, by
 * /proc/self/smaps: their contents are in the file. Some have been written to before they were protected.
 */
const constantProgram = (): Range[] =>
  readSelf('smaps')
    .split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
    .filter((entry) => /^Anonymous: +0 kB$/m.test(entry))
    .flatMap((entry) => programRange(entry, 'r--p') ?? programRange(entry, 'r-xp') ?? []);

/** Returns the range of the mapping whose description starts with this line. */
function programRange(text: string, access: string): Range | undefined {
  const [, from = '', to = '', found, file] =
    /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+ +(.*)/.exec(text) ?? [];
  if (found !== access || file !== process.execPath) return undefined;
  const at = Number.parseInt(from, 16);
  return { at, length: Number.parseInt(to, 16) - at };
}

function readSelf(name: string): string {
  try {
    return readFileSync(`/proc/self/${name}`, 'latin1');
  } catch {
    return '';
  }
}

/** Milliseconds between two checks. */
const LOOK_MS = 1_000;
/** Milliseconds from the first check to the second, when the start has settled. */
const SETTLED_MS = 500;
/** Checks until the work that a start leaves for later is done. */
const START_LOOKS = 4;

/** Share of elapsed time up to which processor time counts as rest. */
const AT_REST = 0.1;
/** Milliseconds of rest before memory is released: connections often return after a moment. */
const RESTED_MS = 3_000;
/** Milliseconds of processor time since the last release that make the next one worthwhile. */
const WORTH_MS = 250;
/**
 * Milliseconds of processor time that make a release worthwhile once the time since the last one is a large multiple of
 * its duration: connections may close with little work, and the last release, while they were open, may have taken
 * long.
 */
const RARELY_WORTH_MS = 50;
const RARE = 500;
const RARE_WHEN_GROWN = 100;
const MUCH_GROWN = 1.2;
/**
 * Share of the resident memory whose return makes a release worth repeating after another rest; `REPETITIONS` limits
 * the repetitions.
 */
const REPEATED = 0.1;
const REPETITIONS = 2;
/** Divisor of the processor time since the last release, of which it may use one part. */
const SHARE = 5;

/** Milliseconds of processor time since the last trim that make the next one worthwhile: pages in use come back. */
const TRIM_WORTH_MS = 300;
/** Divisor of the processor time since the last trim, of which the next one may use one part. */
const TRIM_SHARE = 50;
/**
 * Growth of the old generation in bytes, beyond that of what lived after the last collection, that makes another
 * worthwhile while the process works.
 */
const MUCH_PROMOTED = 16 << 20;

/**
 * Returns memory to the system. V8 and `malloc` keep the memory that connections have used: V8 does not collect while
 * nothing is allocated, and `malloc` returns only memory above the last piece in use.
 *
 * While the process works, unused memory of `malloc` is returned about once a second: what V8's threads have freed after
 * they compiled or collected, and connections after they closed. It takes a fiftieth of the processor time at most.
 *
 * V8 lets the old generation grow to several times of what lives in it. What outlives two collections of the young one
 * is there, such as the state of a connection, and most of it is garbage soon. The old generation is therefore
 * collected, in steps, once it has doubled.
 *
 * When the process has worked and then rested for some seconds, its heap is collected, in steps. That is limited by the
 * processor time used before, or to a hundredth of the time.
 */
export class MemoryKeeper {
  readonly #memory: ProcessMemory;
  /** Processor time at the last check, in milliseconds. */
  #processorMs: number;
  /** Milliseconds since the last check. */
  #interval = LOOK_MS;
  #looks = 0;
  #restedMs = 0;
  /** Processor time at the end of the last release; at first the memory used by the start is released. */
  #released = Number.NEGATIVE_INFINITY;
  /** Milliseconds since the last release. */
  #sinceRelease = 0;
  /** Size of the old generation after its last collection. */
  #leastOld = Number.POSITIVE_INFINITY;
  /** Whether a collection that is not part of a release is in progress. */
  #collectsOld = false;
  /** Resident memory before the collection of the release in progress. */
  #collecting: number | undefined;
  /** Number of times that the last release may still be repeated, because it returned much. */
  #repetitions = 0;
  /** Processor time of the last release with its repetitions; `#trimMs` is that of the last trim. */
  #releaseMs = 0;
  #trimMs = 0;
  /** Processor time at the end of the last trim. */
  #trimmed: number;
  /** The smallest resident memory so far. */
  #resident: number;

  constructor(memory: ProcessMemory) {
    this.#memory = memory;
    this.#processorMs = this.#trimmed = memory.processorMs();
    this.#resident = memory.residentBytes();
  }

  /**
   * Checks the memory, first when the start is complete.
   * @returns milliseconds until the next call.
   */
  look(): number {
    const memory = this.#memory;
    this.#looks++;
    if (this.#looks === 1) {
      memory.keepFreed();
      // A third of the resident memory in 2 ms; the rest waits, because the first clients may connect now.
      memory.forgetProgram('text');
    } else if (this.#looks <= START_LOOKS) {
      // Chunks of the program and constants that only a start reads: 40 MB of the executable.
      memory.forgetProgram('all');
    }
    const now = memory.processorMs();
    const used = now - this.#processorMs;
    this.#processorMs = now;
    this.#sinceRelease += this.#interval;
    if (this.#collecting !== undefined) {
      this.#endRelease(this.#collecting, used);
      return (this.#interval = LOOK_MS);
    }
    this.#boundOld();
    this.#restedMs = used <= AT_REST * this.#interval ? this.#restedMs + this.#interval : 0;
    const resident = memory.residentBytes();
    this.#resident = Math.min(this.#resident, resident);
    if (this.#restedMs < RESTED_MS) {
      if (now - this.#trimmed >= Math.max(TRIM_WORTH_MS, TRIM_SHARE * this.#trimMs)) this.#trim();
      return (this.#interval = this.#looks === 1 ? SETTLED_MS : LOOK_MS);
    }
    const rare = resident > MUCH_GROWN * this.#resident ? RARE_WHEN_GROWN : RARE;
    const isRare = this.#sinceRelease >= rare * this.#releaseMs;
    const worth = isRare ? RARELY_WORTH_MS : Math.max(WORTH_MS, SHARE * this.#releaseMs);
    const isWorth = now - this.#released >= worth;
    if (isWorth || this.#repetitions > 0) {
      if (isWorth) this.#releaseMs = 0;
      this.#repetitions = isWorth ? REPETITIONS : this.#repetitions - 1;
      this.#collecting = resident;
      memory.saveMemory(true);
      memory.collect();
    }
    return (this.#interval = LOOK_MS);
  }

  /** Ends a release. @param used processor time since its start, in milliseconds. */
  #endRelease(before: number, used: number): void {
    const memory = this.#memory;
    const now = this.#processorMs;
    this.#collecting = undefined;
    this.#restedMs = this.#sinceRelease = 0;
    memory.saveMemory(false);
    this.#trim();
    memory.forgetProgram('all');
    const resident = memory.residentBytes();
    this.#resident = Math.min(this.#resident, resident);
    this.#released = this.#processorMs = memory.processorMs();
    // Includes the steps of the collection, some of which ran in other threads.
    this.#releaseMs += used + this.#released - now;
    if (before - resident <= REPEATED * before) this.#repetitions = 0;
  }

  /** Starts a collection when much has been promoted since the last one, and ends that of the last check. */
  #boundOld(): void {
    const memory = this.#memory;
    if (this.#collectsOld) {
      // What V8's threads have used to mark and to compile is free now.
      this.#trim();
      this.#leastOld = Number.POSITIVE_INFINITY;
      this.#collectsOld = false;
    }
    const old = memory.oldHeapBytes();
    this.#leastOld = Math.min(this.#leastOld, old);
    if (old - this.#leastOld < Math.max(MUCH_PROMOTED, this.#leastOld)) return;
    memory.collect();
    this.#collectsOld = true;
  }

  #trim(): void {
    const memory = this.#memory;
    const before = memory.processorMs();
    memory.trim();
    this.#trimmed = memory.processorMs();
    this.#trimMs = this.#trimmed - before;
  }
}

/** Size of the young generation, in bytes, beyond which it does not grow. */
const ENOUGH = 8 << 20;

/**
 * Limits the young generation of this process's heap. V8 doubles it up to 50 MB of resident memory when many objects
 * survive, such as those of a thousand new flows, and keeps that size while the process is busy: most of the memory of
 * these flows. No difference in processor time per connection was measured between 6 MB and 24.
 * @returns whether the generation has reached the limit. Must be called every second: V8 also shrinks it in an idle
 * process.
 */
export function boundYoungHeap(): boolean {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  const hasEnough = young !== undefined && young.physical_space_size >= ENOUGH;
  // The only V8 flag for this that takes effect in a running process; the default is 2.
  setFlagsFromString(`--semi-space-growth-factor=${hasEnough ? 1 : 2}`);
  return hasEnough;
}
