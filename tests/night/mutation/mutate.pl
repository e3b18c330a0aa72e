# Writes the mutants of a Lua script or of a C++ file, each of which differs from it in one place.
#
#   perl mutate.pl [--all] FILE FOLDER [PATTERN…]
#
# FOLDER, unless it is -, gets a file for each mutant, N.lua, N.cc or N.h. Standard output gets a line for each: N, the
# kind of the change, and a name such as `57: if newest [> → >=] now then`, separated by tabs. The kinds are:
#
#   relation     < and <=, > and >=, == and ~= (in C++ !=) for each other
#   arithmetic   + and -, * and / for each other, % becomes *; in C++ also += and -=, ++ and --
#   logic        and and or (&& and ||), true and false for each other; not (!) is left out
#   sign         a minus without a left operand is left out
#   constant     a number is 1 more, and 1 less
#   swap         neighbours in the arguments of a call, in a table, and on the right of an assignment (Lua)
#   removal      a statement on a line of its own is left out, with its `if`; without --all, only in blocks
#
# and with --all also
#
#   negation     the condition of an if, elseif or while is the opposite
#   bound        min and max, floor and ceil for each other
#   argument     an argument of a Redis call is left out, but for the command (Lua)
#
# Comments, the arguments of redis.error_reply and of functions named refuse, and what the group 1 of a PATTERN matches
# stay as they are. It is an error if a PATTERN does not match. Mutants in C++ may not compile.
use strict;
use warnings;

my $all = @ARGV && $ARGV[0] eq '--all' ? shift @ARGV : '';
my ($file, $folder, @patterns) = @ARGV;
my ($suffix) = $file =~ /\.(\w+)$/ or die "$file: no suffix\n";
my $lua = $suffix eq 'lua';

my %relation = ('<' => '<=', '<=' => '<', '>' => '>=', '>=' => '>');
my %arithmetic = ('+' => '-', '-' => '+', '*' => '/', '/' => '*', '%' => '*');
my %logic = (true => 'false', false => 'true');
my %bound = (min => 'max', max => 'min', floor => 'ceil', ceil => 'floor');
if ($lua) {
  @relation{'==', '~='} = ('~=', '==');
  @logic{qw(and or not)} = ('or', 'and', '');
} else {
  @relation{'==', '!='} = ('!=', '==');
  @arithmetic{'+=', '-=', '++', '--'} = ('-=', '+=', '--', '++');
  @logic{'&&', '||', '!'} = ('||', '&&', '');
}

open my $in, '<', $file or die "$file: $!\n";
my $source = do { local $/; <$in> };

my @tokens;    # {text, at, close, in}: the index of the token that closes this bracket; the bracket around it
my @fixed;     # of each character, whether it stays
my $made = 0;

sub fix { my ($from, $to) = @_; $fixed[$_] = 1 for $from .. $to - 1 }

my $lua_token = qr/--[^\n]*|'[^']*'|"[^"]*"|\d[\d.]*(?:e\d+)?|\w+|[<>=~]=|\.\.|\S/;
my $cc_token = qr{//[^\n]*|\#[^\n]*|"[^"]*"|\d[\d.']*(?:e\d+)?|\w+|[<>=!+*/%-]=|\+\+|--|->|&&|\|\||::|\S};

sub read_tokens {
  my $token = $lua ? $lua_token : $cc_token;
  my @open;
  while ($source =~ /\G\s*($token)/gc) {
    my ($text, $at) = ($1, $-[1]);
    next if $text =~ ($lua ? qr/^--/ : qr{^//|^\#});
    push @tokens, {text => $text, at => $at, in => @open ? $tokens[$open[-1]]{text} : ''};
    push @open, $#tokens if $text =~ /^[({[]$/;
    $tokens[pop @open]{close} = $#tokens if $text =~ /^[)}\]]$/;
  }
}

sub text { my ($i) = @_; $i >= 0 && $i < @tokens ? $tokens[$i]{text} : '' }
sub end_of { my ($i) = @_; $tokens[$i]{at} + length text($i) }
# In C++, whether it has a space on each side, as an operator with two operands has.
sub is_spaced {
  my ($i) = @_;
  substr($source, $tokens[$i]{at} - 1, 1) =~ /\s/ && substr($source, end_of($i), 1) =~ /\s/;
}

sub fix_what_stays {
  for my $i (grep { text($_) =~ /^(?:error_reply|refuse(?:_key)?)$/ } 0 .. $#tokens) {
    fix($tokens[$i]{at}, $tokens[$tokens[$i + 1]{close}]{at});
  }
  for my $pattern (@patterns) {
    $source =~ /$pattern/s or die "no match in $file: $pattern\n";
    fix($-[1], $+[1]);
  }
}

# Replaces the text from one offset to another.
sub mutate {
  my ($kind, $from, $to, $new) = @_;
  return if grep { $_ } @fixed[$from .. $to - 1];
  my ($before, $old, $after) =
    (substr($source, 0, $from), substr($source, $from, $to - $from), substr($source, $to));
  my $path = "$folder/" . ++$made . ".$suffix";
  if ($folder ne '-') {
    open my $out, '>', $path or die "$path: $!\n";
    print $out $before, $new, $after;
    close $out or die "$path: $!\n";
  }
  my $first = substr $before, 1 + rindex $before, "\n";
  my ($last) = $after =~ /^([^\n]*)/;
  my $name = "$first\[$old → " . ($new eq '' ? 'nothing' : $new) . "]$last";
  my $comment = $lua ? ' *--.*' : ' *\/\/.*';
  $name =~ s/$comment//;
  $name =~ s/\s+/ /g;
  $name =~ s/^ //;
  print join("\t", $made, $kind, (1 + $before =~ tr/\n//) . ": $name"), "\n";
}

sub replace {
  my ($kind, $i, $new) = @_;
  mutate($kind, $tokens[$i]{at}, end_of($i), $new);
}

# A minus without a left operand.
sub is_sign { my ($i) = @_; text($i) eq '-' && text($i - 1) !~ /^(?!and$|or$|not$|return$)[\w)\]]/ }

sub change_token {
  my ($i) = @_;
  my $text = text($i);
  return replace(sign => $i, '') if is_sign($i);
  if ($lua || $text !~ /^[<>+*\/%-]$/ || is_spaced($i)) {
    return replace(relation => $i, $relation{$text}) if exists $relation{$text};
    return replace(arithmetic => $i, $arithmetic{$text}) if exists $arithmetic{$text};
  }
  return replace(logic => $i, $logic{$text}) if exists $logic{$text};
  return replace(bound => $i, $bound{$text}) if $all && exists $bound{$text} && text($i - 1) =~ /^(?:\.|::)$/;
  my $digits = $lua ? qr/[\d.]*/ : qr/[\d.']*/;
  my ($quote, $number) = $text =~ /^('?)(-?\d$digits(?:e\d+)?)'?$/ or return;
  for my $step (' + 1', ' - 1') {
    replace(constant => $i, $number =~ /[e']/ ? "($number$step)" : $quote . eval("$number$step") . $quote);
  }
}

# The ends of the items of a list that begins with this token, as offsets: [from, to]…
sub items {
  my ($i, $is_end) = @_;
  my ($from, @items) = $tokens[$i]{at};
  for (; ; ++$i) {
    $i = $tokens[$i]{close} if $tokens[$i]{close};
    my $end = end_of($i);
    next unless text($i + 1) eq ',' || $is_end->($i);
    push @items, [$from, $end];
    return @items if $is_end->($i);
    $from = $tokens[$i += 2]{at};
    --$i;
  }
}

sub is_redis_call { my ($i) = @_; text($i) eq '(' && text($i - 1) =~ /^p?call$/ }

# Swaps neighbours in the arguments of a call, in a table, and on the right of an assignment.
sub swap {
  my ($i) = @_;
  my @items;
  my $named = text($i) eq '{' ? $i + 2 : $i;
  return if text($named) eq '=' && $tokens[$named]{in} eq '{';    # the order of named fields does not matter
  if ($tokens[$i]{close} && $tokens[$i]{close} > $i + 1 && text($i) =~ /[({]/) {
    my $close = $tokens[$i]{close};
    @items = items($i + 1, sub { $_[0] == $close - 1 });
    shift @items if is_redis_call($i);    # the command
  } elsif (text($i) eq '=') {
    my $line = sub { substr($source, 0, $tokens[$_[0]]{at}) =~ tr/\n// };
    my $here = $line->($i);
    @items = items($i + 1, sub { $_[0] == $#tokens || $line->($_[0] + 1) > $here || text($_[0] + 1) eq 'do' });
  }
  for my $k (1 .. $#items) {
    my ($one, $other) = @items[$k - 1, $k];
    my ($left, $right) = map { substr($source, $_->[0], $_->[1] - $_->[0]) } $one, $other;
    mutate(swap => $one->[0], $other->[1], "$right, $left") if $left ne $right;
  }
}

sub drop_arguments {
  my ($i) = @_;
  return unless is_redis_call($i);
  my $close = $tokens[$i]{close};
  my @items = items($i + 1, sub { $_[0] == $close - 1 });
  mutate(argument => $items[$_ - 1][1], $items[$_][1], '') for 1 .. $#items;
}

# Negates what stands between a keyword and the end of its condition.
sub negate {
  my ($i) = @_;
  return unless text($i) =~ ($lua ? qr/^(?:if|elseif|while)$/ : qr/^(?:if|while)$/);
  if (!$lua) {
    my ($from, $to) = (end_of($i + 1), $tokens[$tokens[$i + 1]{close}]{at});
    return mutate(negation => $from, $to, '!(' . substr($source, $from, $to - $from) . ')');
  }
  my $end = $i;
  ++$end until text($end) =~ /^(?:then|do)$/;
  my ($from, $to) = ($tokens[$i + 1]{at}, end_of($end - 1));
  mutate(negation => $from, $to, 'not (' . substr($source, $from, $to - $from) . ')');
}

# Removes what is a statement by itself: an assignment, a call or a whole `if` on one line.
sub remove_statements {
  pos($source) = 0;
  my $indentation = $all ? qr/( *)/ : qr/( +)/;
  while ($lua && $source =~ /^$indentation((?:if .* then|call\(|[a-z_, ]+(?:\[\w+\])? = |call\().*?)(?: --.*)?$/gm) {
    my ($from, $to, $line) = ($-[2], $+[2], $2);
    next if $line =~ /^local |^for |(?:then|,|and|or|\.\.|-|\+)$/;
    next if $line =~ /^if / && $line !~ / end$/;
    mutate(removal => $from, $to, '');
  }
  my $assignment = qr{(?:\+\+|--)?[a-z]\w*(?:(?:\.|->|\[)[\w\].>-]+)*(?: [-+*/]?= [^;]*|\([^;]*\))?;};
  while (!$lua && $source =~ /^( +)((?:if \(.*\) .*;|$assignment))(?: *\/\/.*)?$/gm) {
    my ($from, $to, $line) = ($-[2], $+[2], $2);
    next if $line =~ /^(?:return|using|default|public|private)\b/;
    mutate(removal => $from, $to, ';');
  }
}

read_tokens();
fix_what_stays();
for my $i (0 .. $#tokens) {
  change_token($i);
  swap($i) if $lua;
  negate($i) if $all;
  drop_arguments($i) if $all && $lua;
}
remove_statements();
