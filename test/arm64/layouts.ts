import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as linux from '../../packages/io/src/platform/sockets/linux.ts';
import { ROOT } from '../../packaging/root.ts';

/*
 * What packages/io/src/platform takes for granted about C: numbers of the kernel, and where the fields of its
 * structures are. `assertions` is a C file that compiles where all of it is so.
 */

/** Bytes; those of a structure that differs by architecture as C sees it. */
interface Layout {
  readonly size: number | string;
  readonly fields: Readonly<Record<string, number | string>>;
}

/** On x64 alone it is packed (include/uapi/linux/eventpoll.h). */
const byArchitecture = (x64: number, other: number): string => `(IS_X64 ? ${x64} : ${other})`;

/** As the comments beside the code have them. */
const STRUCTURES: Readonly<Record<string, Layout>> = {
  'struct epoll_event': {
    size: byArchitecture(12, 16),
    fields: { events: 0, data: byArchitecture(4, 8) },
  },
  'struct pollfd': { size: 8, fields: { fd: 0, events: 4, revents: 6 } },
  'struct sockaddr_in': { size: 16, fields: { sin_family: 0, sin_port: 2, sin_addr: 4 } },
  'struct sockaddr_in6': {
    size: 28,
    fields: { sin6_family: 0, sin6_port: 2, sin6_flowinfo: 4, sin6_addr: 8, sin6_scope_id: 24 },
  },
  'struct sockaddr_un': { size: 110, fields: { sun_family: 0, sun_path: 2 } },
  'struct iovec': { size: 16, fields: { iov_base: 0, iov_len: 8 } },
  'struct msghdr': {
    size: 56,
    fields: {
      msg_name: 0,
      msg_namelen: 8,
      msg_iov: 16,
      msg_iovlen: 24,
      msg_control: 32,
      msg_controllen: 40,
      msg_flags: 48,
    },
  },
  'struct mmsghdr': { size: 64, fields: { msg_hdr: 0, msg_len: 56 } },
  'struct cmsghdr': { size: 16, fields: { cmsg_len: 0, cmsg_level: 8, cmsg_type: 12 } },
  'struct in_pktinfo': {
    size: 12,
    fields: { ipi_ifindex: 0, ipi_spec_dst: 4, ipi_addr: 8 },
  },
  'struct in6_pktinfo': { size: 20, fields: { ipi6_addr: 0, ipi6_ifindex: 16 } },
  'struct sock_extended_err': {
    size: 16,
    fields: { ee_errno: 0, ee_origin: 4 },
  },
  'struct linger': { size: 8, fields: { l_onoff: 0, l_linger: 4 } },
  'struct rlimit': { size: 16, fields: { rlim_cur: 0, rlim_max: 8 } },
  'struct ifreq': { size: 40, fields: { ifr_name: 0, ifr_flags: 16 } },
  'struct virtio_net_hdr': {
    size: 10,
    fields: { flags: 0, gso_type: 1, hdr_len: 2, gso_size: 4, csum_start: 6, csum_offset: 8 },
  },
  'struct sockaddr_nl': { size: 12, fields: { nl_family: 0, nl_pid: 4, nl_groups: 8 } },
  'struct nlmsghdr': {
    size: 16,
    fields: { nlmsg_len: 0, nlmsg_type: 4, nlmsg_flags: 6, nlmsg_seq: 8, nlmsg_pid: 12 },
  },
  'struct nlmsgerr': { size: 20, fields: { error: 0, msg: 4 } },
  'struct nlattr': { size: 4, fields: { nla_len: 0, nla_type: 2 } },
  'struct ifinfomsg': {
    size: 16,
    fields: { ifi_family: 0, ifi_type: 2, ifi_index: 4, ifi_flags: 8, ifi_change: 12 },
  },
  'struct ifaddrmsg': {
    size: 8,
    fields: { ifa_family: 0, ifa_prefixlen: 1, ifa_flags: 2, ifa_scope: 3, ifa_index: 4 },
  },
  'struct rtmsg': {
    size: 12,
    fields: {
      rtm_family: 0,
      rtm_dst_len: 1,
      rtm_src_len: 2,
      rtm_tos: 3,
      rtm_table: 4,
      rtm_protocol: 5,
      rtm_scope: 6,
      rtm_type: 7,
      rtm_flags: 8,
    },
  },
  'struct rtnexthop': { size: 8, fields: { rtnh_len: 0, rtnh_ifindex: 4 } },
  'struct fib_rule_hdr': {
    size: 12,
    fields: { family: 0, dst_len: 1, src_len: 2, table: 4, action: 7, flags: 8 },
  },
};

/** Types that are passed in registers: those of `bindings.ts` where C says otherwise. */
const TYPES: Readonly<Record<string, number>> = {
  size_t: 8,
  ssize_t: 8,
  socklen_t: 4,
  nfds_t: 8,
  'void *': 8,
};

const HEADERS = [
  'stddef.h',
  'errno.h',
  'fcntl.h',
  'poll.h',
  'unistd.h',
  'sys/types.h',
  'sys/socket.h',
  'sys/un.h',
  'sys/epoll.h',
  'sys/ioctl.h',
  'sys/resource.h',
  'netinet/in.h',
  'netinet/tcp.h',
  'netinet/udp.h',
  'net/if.h',
  'linux/errqueue.h',
  'linux/fib_rules.h',
  'linux/if_addr.h',
  'linux/if_link.h',
  'linux/if_tun.h',
  'linux/netlink.h',
  'linux/rtnetlink.h',
  'linux/sockios.h',
  'linux/virtio_net.h',
];

/** Names of C among the constants of the source. */
const NAMES_OF_C =
  /^(?:(?:AF|SOCK|O|SOL|SO|IPPROTO|IP|IPV6|TCP|UDP|SHUT|MSG|EPOLL|EPOLL_CTL|F|FD|RLIMIT|SPLICE_F|RTM|RTA|RTN|RTPROT|RT_SCOPE|RT_TABLE|FRA|FR_ACT|FIB_RULE|IFLA|IFA|IFF|IN6_ADDR|NLM_F|NLMSG|NLMSGERR_ATTR|NETLINK|TUN_F)_[A-Z\d_]+|EPOLL[A-Z]+|TUNSET[A-Z]+|FIONREAD|SIOCOUTQ|E[A-Z]+)$/;

/** Newer than the headers of a stable distribution. */
const NEWER = /^TUN_F_USO/;

/** Of a protocol, not of C. */
const OWN = /^TCP_CHECKSUM_OFFSET$/;

const CONSTANT = /^(?:export )?const ([A-Z][A-Z\d_]+) = (0x[\da-f_]+|\d[\d_]*);$/gm;

/** The numbers of C in the source, by their names. */
export function constants(): ReadonlyMap<string, number> {
  const found = new Map<string, number>(Object.entries(linux));
  for (const folder of ['netlink', 'tun']) {
    const path = join(ROOT, 'packages/io/src/platform', folder);
    for (const file of readdirSync(path)) {
      for (const [, name = '', value = ''] of readFileSync(join(path, file), 'utf8').matchAll(
        CONSTANT,
      )) {
        found.set(name, Number(value.replaceAll('_', '')));
      }
    }
  }
  return new Map([...found].filter(([name]) => NAMES_OF_C.test(name) && !OWN.test(name)));
}

export function assertions(): string {
  const lines = [
    '#define _GNU_SOURCE',
    ...HEADERS.map((header) => `#include <${header}>`),
    '#ifdef __x86_64__',
    '#define IS_X64 1',
    '#else',
    '#define IS_X64 0',
    '#endif',
  ];
  const must = (condition: string): void =>
    void lines.push(`_Static_assert(${condition}, "${condition}");`);
  for (const [name, value] of constants()) {
    if (NEWER.test(name)) lines.push(`#ifdef ${name}`);
    must(`(unsigned)${name} == ${value}u`);
    if (NEWER.test(name)) lines.push('#endif');
  }
  for (const [name, { size, fields }] of Object.entries(STRUCTURES)) {
    must(`sizeof(${name}) == ${size}`);
    for (const [field, at] of Object.entries(fields)) must(`offsetof(${name}, ${field}) == ${at}`);
  }
  for (const [name, size] of Object.entries(TYPES)) must(`sizeof(${name}) == ${size}`);
  must('__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__');
  return `${lines.join('\n')}\n`;
}
