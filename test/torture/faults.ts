/**
 * The calls that are made to fail, and how: by an error number, or by doing less than was asked
 * (`short`). Only what Linux can do with a descriptor of that kind: an error that it never returns
 * would show how Weir copes with another kernel.
 */
export type Fault =
  | 'EAGAIN'
  | 'ECONNABORTED'
  | 'ECONNREFUSED'
  | 'ECONNRESET'
  | 'EDQUOT'
  | 'EINTR'
  | 'EIO'
  | 'EMFILE'
  | 'ENFILE'
  | 'ENOBUFS'
  | 'ENODEV'
  | 'ENOMEM'
  | 'ENOSPC'
  | 'ENOTCONN'
  | 'EPERM'
  | 'EPIPE'
  | 'EROFS'
  | 'short';

/** System calls that Weir makes itself, by their names in C, and their faults. */
export const NATIVE_CALLS: Readonly<Record<string, readonly Fault[]>> = {
  open: ['EMFILE', 'ENFILE', 'ENOMEM', 'EINTR'],
  socket: ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'],
  socketpair: ['EMFILE', 'ENFILE', 'ENOBUFS'],
  bind: ['ENOBUFS', 'ENOMEM'],
  listen: ['ENOBUFS', 'ENOMEM'],
  accept4: ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'ECONNABORTED', 'EINTR', 'EAGAIN'],
  connect: ['ENOBUFS', 'ENOMEM', 'EAGAIN'],
  getsockopt: ['ENOBUFS', 'ENOMEM'],
  setsockopt: ['ENOBUFS', 'ENOMEM'],
  getsockname: ['ENOBUFS', 'ENOMEM'],
  getpeername: ['ENOBUFS', 'ENOMEM', 'ENOTCONN'],
  recv: ['EAGAIN', 'EINTR', 'short', 'ECONNRESET', 'ENOBUFS', 'ENOMEM'],
  send: ['EAGAIN', 'EINTR', 'short', 'EPIPE', 'ECONNRESET', 'ENOBUFS', 'ENOMEM'],
  sendmsg: ['EAGAIN', 'EINTR', 'EPIPE', 'ECONNRESET', 'ENOBUFS', 'ENOMEM'],
  recvmsg: ['EAGAIN', 'EINTR', 'ECONNREFUSED', 'ENOMEM'],
  sendmmsg: ['EAGAIN', 'EINTR', 'short', 'EPERM', 'ENOBUFS', 'ENOMEM'],
  recvmmsg: ['EAGAIN', 'EINTR', 'short', 'ENOBUFS', 'ENOMEM'],
  read: ['EAGAIN', 'EINTR', 'ENOBUFS', 'ENOMEM'],
  write: ['EAGAIN', 'EINTR', 'ENOBUFS', 'ENOMEM'],
  writev: ['EAGAIN', 'EINTR', 'EPIPE', 'ECONNRESET', 'ENOBUFS', 'ENOMEM'],
  shutdown: ['ENOTCONN'],
  close: ['EINTR', 'EIO'],
  splice: ['EAGAIN', 'EINTR', 'short', 'EPIPE', 'ECONNRESET', 'ENOMEM'],
  pipe2: ['EMFILE', 'ENFILE'],
  fcntl: ['EMFILE', 'ENOMEM', 'EPERM'],
  ioctl: ['ENOBUFS', 'ENOMEM'],
  epoll_create1: ['EMFILE', 'ENFILE', 'ENOMEM'],
  epoll_ctl: ['ENOMEM', 'ENOSPC'],
  epoll_wait: ['EINTR'],
  if_nametoindex: ['ENODEV', 'EMFILE'],
  if_indextoname: ['ENODEV', 'EMFILE'],
  getxattr: ['EIO', 'ENOMEM'],
  fsetxattr: ['EIO', 'ENOSPC', 'EPERM'],
  fremovexattr: ['EIO', 'EPERM'],
};

const FULL: readonly Fault[] = ['ENOSPC', 'EDQUOT', 'EIO'];

/** Steps of Node's file functions on files beside the configuration, and their faults. */
export const FILE_CALLS: Readonly<Record<string, readonly Fault[]>> = {
  'fs.open': ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOSPC', 'EROFS', 'EINTR'],
  'fs.realpath': ['EIO', 'ENOMEM'],
  'fs.stat': ['EIO', 'ENOMEM'],
  'fs.rename': ['ENOSPC', 'EIO', 'EROFS'],
  'fs.link': ['ENOSPC', 'EIO', 'EPERM'],
  'fs.unlink': ['EIO', 'EROFS'],
  'file.stat': ['EIO', 'ENOMEM'],
  'file.read': ['EIO', 'ENOMEM', 'EINTR'],
  'file.readFile': ['EIO', 'ENOMEM'],
  'file.writeFile': ['short', ...FULL],
  'file.chown': ['EPERM', 'EIO'],
  'file.chmod': ['EPERM', 'EIO'],
  'file.sync': FULL,
  'file.close': ['EINTR', ...FULL],
};

export const CALLS: Readonly<Record<string, readonly Fault[]>> = { ...NATIVE_CALLS, ...FILE_CALLS };

/** Calls on data, after each of which the caller has to go on as if nothing had happened. */
const ON_DATA = new Set([
  'accept4',
  'recv',
  'recvmmsg',
  'send',
  'sendmmsg',
  'splice',
  'read',
  'epoll_wait',
]);

/** Whether a client must not notice the fault: the call is to be repeated, or continued. */
export const isTransparent = (call: string, fault: Fault): boolean =>
  ON_DATA.has(call) && (fault === 'EAGAIN' || fault === 'EINTR' || fault === 'short');

/** One call of a run that is made to fail. */
export interface Failure {
  readonly call: string;
  readonly fault: Fault;
  /** Counted from 1, from the moment at which it is armed. */
  readonly nth: number;
}

export const failureText = ({ call, fault, nth }: Failure): string => `${call} ${nth} ${fault}`;
