"""Reading job records: files of any known format become rows, with what is wrong with each."""
