import { systemClock } from '@weir/io/time';
import { openSystemCalls } from '@weir/io/service';
import { checkCalls, type CheckedCalls } from '../../../packages/io/src/platform/sockets/probe.ts';
import { KernelIo } from '../../../packages/io/src/platform/sockets/kernel-io.ts';
import { SOCK_NONBLOCK } from '../../../packages/io/src/platform/sockets/linux.ts';

const AF_NETLINK = 16;

/** Kernel sockets whose netlink sockets count requests, and fail when they are to. */
export interface FaultyNetlink {
  readonly io: KernelIo;
  readonly calls: CheckedCalls;
  /** Requests that were sent so far. */
  readonly requests: () => number;
  /** The next `times` answers to questions are taken from the socket and lost with this error number. */
  readonly loseAnswers: (times: number, errno: number) => void;
  /** The same for notifications. */
  readonly loseNotifications: (times: number, errno: number) => void;
  /** What is still to be lost of both. */
  readonly left: () => number;
}

interface Losses {
  left: number;
  errno: number;
}

/** Kernel sockets in the debug mode. */
export function faultyNetlink(): FaultyNetlink {
  const real = openSystemCalls();
  /** Each with what it is to lose. */
  const sockets = new Map<number, Losses>();
  const answers: Losses = { left: 0, errno: 0 };
  const notifications: Losses = { left: 0, errno: 0 };
  let requests = 0;
  let lastFault = 0;
  const faulty: typeof real = {
    ...real,
    errno: () => lastFault || real.errno(),
    socket: (domain, type, protocol) => {
      lastFault = 0;
      const fd = real.socket(domain, type, protocol);
      if (domain === AF_NETLINK) sockets.set(fd, type & SOCK_NONBLOCK ? notifications : answers);
      else sockets.delete(fd);
      return fd;
    },
    send: (fd, at, length, flags) => {
      lastFault = 0;
      if (sockets.has(fd)) requests++;
      return real.send(fd, at, length, flags);
    },
    recv: (fd, at, length, flags) => {
      lastFault = 0;
      const result = real.recv(fd, at, length, flags);
      const losses = sockets.get(fd);
      if (result < 0 || losses === undefined || losses.left === 0) return result;
      losses.left--;
      lastFault = losses.errno;
      return -1;
    },
    close: (fd) => {
      lastFault = 0;
      sockets.delete(fd);
      return real.close(fd);
    },
    connect: (fd, address, length) => {
      lastFault = 0;
      return real.connect(fd, address, length);
    },
    getsockopt: (fd, level, name, value, length) => {
      lastFault = 0;
      return real.getsockopt(fd, level, name, value, length);
    },
  };
  const calls = checkCalls(faulty);
  return {
    calls,
    io: new KernelIo(calls, systemClock),
    requests: () => requests,
    loseAnswers: (left, errno) => void Object.assign(answers, { left, errno }),
    loseNotifications: (left, errno) => void Object.assign(notifications, { left, errno }),
    left: () => answers.left + notifications.left,
  };
}
