import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { openSelf, structure } from '../native.ts';

/** What a `MemoryKeeper` asks of the process and does to it. */
export interface ProcessMemory {
  /** Processor time of all threads so far, in milliseconds. */
  processorMs(): number;
  /** Resident memory, in bytes; the last known while the process has no descriptor left to read it. */
  residentBytes(): number;
  /**
   * All that is free within the memory of `malloc`, in bytes, whether it was returned to the system or not;
   * 0 where that is not known. Walks the lists of free pieces: some milliseconds for a hundred thousand.
   */
  freeBytes(): number;
  /** Returns what is free within the memory of `malloc` to the system; 0.14 ms a MB. */
  trim(): void;
  /** Starts a collection of the whole heap, which V8 does in steps between other work. */
  startCollection(): void;
  /** To be called once the collection has had time to end. */
  endCollection(): void;
  /**
   * Removes pages of Node's program file from the resident memory, of its text alone or of its constants
   * too; the latter takes 5 ms longer the first time. Those that are used come back from the system's cache
   * of files, at a microsecond for 64 KB.
   */
  forgetProgram(part: 'text' | 'all'): void;
}

/** More than V8 lets grow outside of its heap before it starts a collection, which is 64 MB. */
const COLLECTION_TRIGGER = 96 << 20;

/** `MADV_DONTNEED` of <sys/mman.h>. */
const DONTNEED = 4;

/** A range of addresses. */
interface Range {
  readonly at: number;
  readonly length: number;
}

/** Functions of the C library; those that it does not have are `undefined`. */
interface Functions {
  readonly trim: ((pad: number) => number) | undefined;
  readonly free: (() => number) | undefined;
  readonly advise: ((at: number, length: number, advice: number) => number) | undefined;
}

/** The fields of `struct mallinfo2` of <malloc.h>; `fordblks` is the size of all free pieces. */
const MALLINFO = 'arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost';

let lastResident = 0;

/** Resident memory, in bytes. libuv reads a file for it, which a process without free descriptors cannot open. */
export function residentBytes(): number {
  try {
    lastResident = process.memoryUsage.rss();
  } catch {
    // Still what it was: the next call knows more.
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

  trim(): void {
    this.#bound().trim?.(0);
  }

  startCollection(): void {
    // With this V8 gives the pages that become empty back, instead of keeping them for later.
    setFlagsFromString('--memory-saver-mode');
    try {
      // The memory is never touched. V8 is told of it, and starts a collection, because it might be the
      // heap that keeps so much. There is no other way that does not stop the process for all of it.
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

/** The mappings of the program file that are text, which nothing ever writes to: /proc/self/maps (proc(5)). */
const programText = (): Range[] =>
  readSelf('maps')
    .split('\n')
    .flatMap((line) => programRange(line, 'r-xp') ?? []);

/**
 * The mappings of the program file that are not writable and have no page of their own, by
 * /proc/self/smaps: what they contain is in the file. Some have been written to before they were protected.
 */
const constantProgram = (): Range[] =>
  readSelf('smaps')
    .split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)
    .filter((entry) => /^Anonymous: +0 kB$/m.test(entry))
    .flatMap((entry) => programRange(entry, 'r--p') ?? programRange(entry, 'r-xp') ?? []);

/** The range of the mapping whose description begins with this line. */
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
