"""The command line: a command parses, calls one public function and shows what it gives back."""
