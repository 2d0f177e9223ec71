/**
 * Numbers of the Linux ABI, the same on x64 and arm64 (include/uapi). Only what the socket layer
 * uses; error numbers are those of errno(3).
 */
export const AF_UNSPEC = 0;
export const AF_UNIX = 1;
export const AF_INET = 2;
export const AF_INET6 = 10;

export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_NONBLOCK = 0o4000;
export const SOCK_CLOEXEC = 0o2000000;
/** Flags of every descriptor of this layer: non-blocking, and not inherited by child processes. */
export const NONBLOCK_CLOEXEC = SOCK_NONBLOCK | SOCK_CLOEXEC;

export const O_RDWR = 0o2;
export const O_NONBLOCK = SOCK_NONBLOCK;
export const O_CLOEXEC = SOCK_CLOEXEC;

export const SOL_SOCKET = 1;
export const SO_REUSEADDR = 2;
export const SO_TYPE = 3;
export const SO_ERROR = 4;
export const SO_SNDBUF = 7;
export const SO_RCVBUF = 8;
export const SO_KEEPALIVE = 9;
export const SO_LINGER = 13;
export const SO_PEERNAME = 28;
export const SO_ACCEPTCONN = 30;
export const SO_SNDBUFFORCE = 32;
export const SO_RCVBUFFORCE = 33;
export const SO_RXQ_OVFL = 40;
/** Available since Linux 5.14. */
export const SO_BUF_LOCK = 72;
/** Available since Linux 5.0. */
export const SO_BINDTOIFINDEX = 62;

export const IPPROTO_IP = 0;
export const IP_TOS = 1;
export const IP_PKTINFO = 8;
export const IP_MTU_DISCOVER = 10;
export const IP_RECVERR = 11;
export const IP_RECVTOS = 13;
/** Sets DF and ignores path MTU reports of ICMP; the same number for IPv6. */
export const PMTUDISC_PROBE = 3;

export const IPPROTO_IPV6 = 41;
export const IPV6_MTU_DISCOVER = 23;
export const IPV6_RECVERR = 25;
export const IPV6_V6ONLY = 26;
export const IPV6_RECVPKTINFO = 49;
export const IPV6_PKTINFO = 50;
export const IPV6_RECVTCLASS = 66;
export const IPV6_TCLASS = 67;

export const IPPROTO_TCP = 6;
export const TCP_NODELAY = 1;
export const TCP_KEEPIDLE = 4;
export const TCP_KEEPINTVL = 5;
export const TCP_KEEPCNT = 6;
export const TCP_INFO = 11;
export const TCP_CONGESTION = 13;
export const TCP_NOTSENT_LOWAT = 25;
export const TCP_USER_TIMEOUT = 18;

export const SOL_UDP = 17;
export const UDP_SEGMENT = 103;
export const UDP_GRO = 104;

/** Origins of errors that ICMP has reported (ip(7)). */
export const SO_EE_ORIGIN_ICMP = 2;
export const SO_EE_ORIGIN_ICMP6 = 3;

export const SHUT_WR = 1;

export const MSG_OOB = 0x1;
export const MSG_TRUNC = 0x20;
export const MSG_DONTWAIT = 0x40;
export const MSG_ERRQUEUE = 0x2000;
export const MSG_NOSIGNAL = 0x4000;
export const MSG_MORE = 0x8000;

export const EPOLL_CTL_ADD = 1;
export const EPOLL_CTL_DEL = 2;
export const EPOLL_CTL_MOD = 3;
export const EPOLLIN = 0x1;
export const EPOLLPRI = 0x2;
export const EPOLLOUT = 0x4;
export const EPOLLERR = 0x8;
export const EPOLLHUP = 0x10;
export const EPOLLRDHUP = 0x2000;
/** An unsigned number; the field is `uint32_t`. */
export const EPOLLET = 0x8000_0000;

export const F_SETFD = 2;
export const F_GETFL = 3;
export const F_SETFL = 4;
export const FD_CLOEXEC = 1;
export const F_DUPFD_CLOEXEC = 1030;
export const F_SETPIPE_SZ = 1031;
export const F_GETPIPE_SZ = 1032;
export const FIONREAD = 0x541b;
export const SIOCOUTQ = 0x5411;
export const RLIMIT_NOFILE = 7;

export const SPLICE_F_MOVE = 1;
export const SPLICE_F_NONBLOCK = 2;

export const EPERM = 1;
export const ENOENT = 2;
export const EINTR = 4;
export const EIO = 5;
export const ENXIO = 6;
export const EBADF = 9;
export const EAGAIN = 11;
export const ENOMEM = 12;
export const EACCES = 13;
export const EFAULT = 14;
export const EBUSY = 16;
export const EEXIST = 17;
export const ENODEV = 19;
export const EINVAL = 22;
export const ENFILE = 23;
export const EMFILE = 24;
export const EPIPE = 32;
export const EBADFD = 77;
export const ENOTSOCK = 88;
export const EMSGSIZE = 90;
export const EAFNOSUPPORT = 97;
export const ENETUNREACH = 101;
export const ECONNRESET = 104;
export const ENOBUFS = 105;
export const ETIMEDOUT = 110;
export const ECONNREFUSED = 111;
export const EHOSTUNREACH = 113;
export const EISCONN = 106;
export const EALREADY = 114;
export const EINPROGRESS = 115;
