/** Behind the database and before its log in the order of names: a copy in that order holds what was acknowledged before it. */
export const intakePathOf = (databasePath: string) => `${databasePath}-intake`;
