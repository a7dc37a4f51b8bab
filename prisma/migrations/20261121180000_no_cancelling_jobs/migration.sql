-- What waits for deleted webhooks is cancelled by a periodic job; nobody takes jobs of this kind any more.
DELETE FROM jobs WHERE task = 'cancel_deliveries';
