import { followLog } from '@weir/server/control';
import { WeirError } from '@weir/base';
import { systemClock } from '@weir/io/time';
import type { CreatePageSource } from '../contract.ts';
import { logFilter, logFilterPreview, logTopic } from '../log/log-page.ts';
import { SharedLog, WatchedSums, FailingOutbounds } from '@weir/client/monitor';
import {
  addAccount,
  additionPreview,
  removalPreview,
  removeAccount,
} from '../users/user-actions.ts';
import { UsersInFile } from '../users/users-in-file.ts';
import { usersTopic } from '../users/users-topic.ts';
import { nowTopic, ratesTopic } from './now-topics.ts';

/** The pages Now, Users and Log, which share the sums of flows and the log. */
export const createNowSource: CreatePageSource = (context) => {
  const { monitor } = context;
  const sums = new WatchedSums();
  // For as long as the process runs: pages come and go, and the sums continue.
  monitor.onChange(() => sums.update(monitor));
  const failing = new FailingOutbounds();
  const log = new SharedLog(
    (signal) => {
      const { socket } = context;
      if (socket === undefined) throw new WeirError('no_socket', 'there is no control socket');
      return followLog(socket, { tail: true, signal });
    },
    systemClock,
    (entry) => failing.note(entry),
  );
  const file = new UsersInFile(() => context.config, systemClock);
  const users = { context, sums, file, stderr: process.stderr };
  return {
    topics: [
      ratesTopic(context),
      nowTopic({ context, sums, failing, log }),
      usersTopic(users),
      logTopic(context, log),
    ],
    actions: [
      logFilterPreview(context),
      logFilter(context),
      removalPreview(users),
      removeAccount(users),
      additionPreview(users),
      addAccount(users),
    ],
  };
};
