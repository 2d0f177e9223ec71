/** Users of an inbound. */
export {
  type AccountChange,
  type AccountEdit,
  closeAccountFlows,
  countAccountFlows,
  editAccount,
} from './accounts/edit-account.ts';
export { listAccounts } from './accounts/list-accounts.ts';
