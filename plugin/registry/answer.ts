import type { Customer, RegistryAnswer, RegistryEntry } from './registry';

/** The system that serves a customer now. */
export const activeSystem = ({ exported, source, target }: Omit<Customer, 'id'>): string =>
  exported ? target : source;

/**
 * What a stored entry means now. A customer that exists in two systems is served where its `exported` flag says;
 * an entry without a customer, or whose customer is not in the registry, is served where it lives.
 */
export function answerFor(entry: RegistryEntry, customer: Customer | null): RegistryAnswer {
  const { value: _value, ...rest } = entry;
  if (customer === null) return rest;
  return { ...rest, system: activeSystem(customer) };
}
