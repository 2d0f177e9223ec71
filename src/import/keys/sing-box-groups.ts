import { dropped, same, type KeyTable } from '../verdicts.ts';

/** Keys of sing-box's selector and urltest (`option/group.go`, 7df171f) that are not carried over. */
export const SING_BOX_GROUP_KEYS: KeyTable = {
  // Weir leaves existing flows unchanged when another member is picked.
  interrupt_exist_connections: dropped('flows stay where they are when the choice changes'),
  url: dropped('members are tested by a connection to their server'),
  tolerance: dropped('the first member that works is used'),
  idle_timeout: same(),
};
