import { readFileSync } from 'node:fs';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { openSelf, structure } from '../native.ts';

/** The operations on the process that a `MemoryKeeper` uses. */
export interface ProcessMemory {
  /** Returns the processor time of all threads so far, in milliseconds. */
  processorMs(): number;
  /** Returns the resident memory in bytes; the last known value while the process has no descriptor left to read it. */
  residentBytes(): number;
  /**
   * Returns the free memory of `malloc` in bytes, whether returned to the system or not; 0 if unknown. Walks the lists
   * of free pieces: some milliseconds for a hundred thousand.
   */
  freeBytes(): number;
  /** Returns the bytes in use in the old generation of the heap. */
  oldHeapBytes(): number;
  /** Returns free memory of `malloc` to the system; 0.14 ms per MB. */
  trim(): void;
  /** Starts a collection of the whole heap, which V8 does in steps between other work. */
  startCollection(): void;
  /** Ends the collection; called once it has had time to end. */
  endCollection(): void;
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

/** A range of addresses. */
interface Range {
  readonly at: number;
  readonly length: number;
}

/** Functions of the C library; those that it lacks are `undefined`. */
interface Functions {
  readonly trim: ((pad: number) => number) | undefined;
  readonly free: (() => number) | undefined;
  readonly advise: ((at: number, length: number, advice: number) => number) | undefined;
}

/** The fields of `struct mallinfo2` of <malloc.h>; `fordblks` is the size of all free pieces. */
const MALLINFO = 'arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost';

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

  freeBytes(): number {
    return this.#bound().free?.() ?? 0;
  }

  oldHeapBytes(): number {
    const old = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space');
    return old?.space_used_size ?? 0;
  }

  trim(): void {
    this.#bound().trim?.(0);
  }

  startCollection(): void {
    // Makes V8 release empty pages instead of keeping them for later.
    setFlagsFromString('--memory-saver-mode');
    try {
      // The memory is never touched. V8 accounts for it, and starts a collection, because the heap might keep so much
      // alive. There is no other way that does not stop the process for the whole collection.
      new ArrayBuffer(COLLECTION_TRIGGER).transfer(0);
    } catch {
      // The address space is limited: V8 collects when it needs to.
    }
  }

  endCollection(): void {
    setFlagsFromString('--no-memory-saver-mode');
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
    return { trim: undefined, free: undefined, advise: undefined };
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
    free: optional(bindFree),
    advise: optional(() => openSelf().func('int madvise(uintptr_t at, size_t length, int advice)')),
  };
}

function bindFree(): () => number {
  const fields = Object.fromEntries(MALLINFO.split(' ').map((name) => [name, 'size_t']));
  const mallinfo = openSelf().func('mallinfo2', structure(fields), []);
  return () => Number((mallinfo() as Readonly<Record<string, number | bigint>>)['fordblks'] ?? 0);
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
