import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contactsIn } from '../../support/process/traced-contacts.ts';

/* Lines as strace 6.1 writes them. */
const TRACE = String.raw`
812 socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 19
812 connect(19, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 EINPROGRESS
812 connect(20, {sa_family=AF_INET6, sin6_port=htons(53), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, 28 <unfinished ...>
812 connect(21, {sa_family=AF_UNIX, sun_path="/run/weir/1.sock"}, 19) = 0
812 bind(3, {sa_family=AF_INET, sin_port=htons(1), sin_addr=inet_addr("192.0.2.9")}, 16) = 0
812 sendto(4, "x", 1, 0, {sa_family=AF_NETLINK, nl_pid=0, nl_groups=00000000}, 12) = 20
813 <... recvmsg resumed>{msg_name={sa_family=AF_INET, sin_port=htons(7), sin_addr=inet_addr("192.0.2.2")}, msg_namelen=16}, 0) = 9
813 sendmsg(5, {msg_name={sa_family=AF_INET, sin_port=htons(7), sin_addr=inet_addr("192.0.2.2")}, msg_namelen=16}, 0) = 9
813 sendmmsg(5, [{msg_hdr={msg_name={sa_family=AF_INET, sin_port=htons(8), sin_addr=inet_addr("192.0.2.3")}}}, {msg_hdr={msg_name={sa_family=AF_INET, sin_port=htons(9), sin_addr=inet_addr("192.0.2.4")}}}], 2, 0) = 2
`;

test('a trace has what was contacted, but not what was answered', () => {
  assert.deepEqual(
    [...contactsIn(TRACE)],
    ['192.0.2.1:443', '[2001:db8::1]:53', '/run/weir/1.sock', '192.0.2.3:8', '192.0.2.4:9'],
  );
});
