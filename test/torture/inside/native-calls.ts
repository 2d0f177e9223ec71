import { loadKoffi, type Koffi } from '../../../packages/io/src/platform/addons.ts';
import type { NativeLibrary } from '@weir/io/platform/native';
import { AF_NETLINK } from '../../../packages/io/src/platform/netlink/netlink-socket.ts';
import { EPOLL_CTL_DEL, EPOLL_CTL_MOD } from '../../../packages/io/src/platform/sockets/linux.ts';
import { NATIVE_CALLS, type Fault } from '../faults.ts';
import { errnoOf, type Trigger } from './trigger.ts';

/** A bound function of C, called with numbers, strings and bytes. */
type Call = (...values: unknown[]) => number;

/** What is replaced in koffi: a module object that this process alone has. */
interface Replaceable {
  load: (path: string | null) => NativeLibrary;
  errno: (value?: number) => number;
}

/** A socket that epoll watches, as it was registered last. */
interface Registration {
  readonly epoll: number;
  /** The words of `struct epoll_event`. */
  readonly event: readonly number[];
}

const EVENT_WORDS = 4;

/**
 * Replaces koffi's way to bind functions of C, so that those in {@link NATIVE_CALLS} fail when the
 * trigger says so. Everything else is bound as it is. To be called before Weir binds anything.
 */
export function failNativeCalls(trigger: Trigger): void {
  const koffi = loadKoffi();
  const replaceable = koffi as unknown as Replaceable;
  const real: Readonly<Replaceable> = { load: koffi.load, errno: koffi.errno };
  const failing = new FailingCalls(koffi, trigger);
  replaceable.errno = (...value) => failing.errno ?? real.errno(...value);
  replaceable.load = (path) => {
    const library = real.load(path);
    return path === null ? failing.bindWith(library) : library;
  };
}

class FailingCalls {
  readonly #koffi: Koffi;
  readonly #trigger: Trigger;
  readonly #watched = new Map<number, Registration>();
  readonly #netlink = new Set<number>();
  readonly #event: Uint32Array;
  readonly #eventAt: number;
  #epollCtl: Call | undefined;
  #connect: Call | undefined;
  /** The error number of the call before, if that was made to fail. */
  errno: number | undefined;

  constructor(koffi: Koffi, trigger: Trigger) {
    this.#koffi = koffi;
    this.#trigger = trigger;
    const memory = new Uint8Array(new ArrayBuffer(EVENT_WORDS * 4));
    this.#event = new Uint32Array(memory.buffer);
    this.#eventAt = Number(koffi.address(memory));
  }

  bindWith(library: NativeLibrary): NativeLibrary {
    const func = (...definition: Parameters<NativeLibrary['func']>): unknown => {
      const call = library.func(...definition) as unknown as Call;
      // Functions of OpenSSL are bound by a name and types, system calls by a definition in C.
      const [text, ...types]: readonly unknown[] = definition;
      const name = types.length === 0 ? /(\w+)\(/.exec(String(text))?.[1] : undefined;
      if (name === undefined) return call;
      if (name === 'epoll_ctl') this.#epollCtl = call;
      if (name === 'connect') this.#connect = call;
      return this.#wrap(name, call);
    };
    return new Proxy(library, {
      get: (target, key) => {
        if (key === 'func') return func;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  #wrap(name: string, call: Call): Call {
    return (...values) => {
      this.errno = undefined;
      const fault = name in NATIVE_CALLS ? this.#trigger.count(name) : undefined;
      const result = fault ? this.#fail(name, fault, call, values) : call(...values);
      if (result >= 0) this.#note(name, values);
      if (name === 'socket' && values[0] === AF_NETLINK) this.#netlink.add(result);
      return result;
    };
  }

  #fail(name: string, fault: Fault, call: Call, values: unknown[]): number {
    if (fault === 'short') {
      // Messages of netlink are passed whole or not at all.
      if (this.#netlink.has(Number(values[0]))) return call(...values);
      const result = call(...shortened(name, values));
      this.#repeatEvents(name, values);
      return result;
    }
    // A descriptor is closed whatever close(2) returns. connect(2) has begun before EAGAIN.
    if (name === 'close') {
      call(...values);
      this.#note(name, values);
    } else if (name === 'connect' && fault === 'EAGAIN') call(...values);
    // A connection that shutdown(2) says is none has ended: without that its peer would wait.
    else if (name === 'shutdown') this.#abort(Number(values[0]));
    if (fault === 'EAGAIN') this.#repeatEvents(name, values);
    this.errno = errnoOf(fault);
    return name.startsWith('if_') ? 0 : -1;
  }

  /** Remembers what is needed to make epoll report a socket again. */
  #note(name: string, values: readonly unknown[]): void {
    if (name === 'close') {
      this.#watched.delete(Number(values[0]));
      this.#netlink.delete(Number(values[0]));
    }
    if (name !== 'epoll_ctl') return;
    const [epoll, operation, fd, event] = values.map(Number) as [number, number, number, number];
    if (operation === EPOLL_CTL_DEL) this.#watched.delete(fd);
    else {
      const words = this.#koffi.decode(BigInt(event), 'uint32_t', EVENT_WORDS) as number[];
      this.#watched.set(fd, { epoll, event: [...words] });
    }
  }

  /**
   * A call that is said to have found nothing, or less than there was, leaves the socket ready. The
   * kernel would report an edge when that ends; here it is made to report the state once more.
   */
  #repeatEvents(name: string, values: readonly unknown[]): void {
    for (const value of name === 'splice' ? [values[0], values[2]] : [values[0]]) {
      const registration = this.#watched.get(Number(value));
      if (!registration) continue;
      this.#event.set(registration.event);
      this.#epollCtl?.(registration.epoll, EPOLL_CTL_MOD, value, this.#eventAt);
    }
  }

  /** Ends a connection with a reset: connect(2) with the family AF_UNSPEC, which is 0. */
  #abort(fd: number): void {
    const LENGTH = 16;
    const address = new Uint8Array(new ArrayBuffer(LENGTH));
    this.#connect?.(fd, Number(this.#koffi.address(address)), LENGTH);
  }
}

/** The arguments of a call that is to do less than it could: one byte, or one message. */
function shortened(name: string, values: readonly unknown[]): unknown[] {
  const at = name === 'splice' ? 4 : 2;
  return values.map((value, i) => (i === at ? Math.min(Number(value), 1) : value));
}
