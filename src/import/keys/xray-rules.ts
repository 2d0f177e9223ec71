import { dropped, refused, same, type KeyTable } from '../verdicts.ts';

const BY_PROGRAM = refused('Weir does not know which program a flow comes from');
const LOCAL = refused('Weir has no condition on the address that a client connected to');

/** Keys of Xray's routing rules (`infra/conf/router.go`, 2323273) that are not carried over. */
export const XRAY_RULE_KEYS: KeyTable = {
  type: same(),
  domainMatcher: same(),
  ruleTag: same(),
  sourcePort: refused("Weir has no condition on the client's port"),
  user: refused('Weir has no condition on the account of the client'),
  vlessRoute: refused('Weir has no condition on the UUID of the client'),
  protocol: refused('Weir has no condition on the protocol inside of a flow'),
  attrs: refused('Weir has no condition on HTTP headers'),
  localIP: LOCAL,
  localPort: LOCAL,
  process: BY_PROGRAM,
  localOS: refused('Weir has no condition on the operating system'),
  webhook: dropped('nothing is called when a rule matches'),
};

/** Keys of Xray's balancers that are not carried over. */
export const XRAY_BALANCER_KEYS: KeyTable = {
  'strategy.settings': dropped('members are tested by a connection to their server'),
};
