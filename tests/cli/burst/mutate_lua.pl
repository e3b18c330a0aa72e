# Writes the mutants of a Lua script, each of which differs from it by one token or one statement.
#
#   perl mutate_lua.pl SCRIPT FOLDER [PATTERN…]
#
# FOLDER gets a file for each mutant, N.lua. Standard output gets a line for each: N, the kind of
# the change, and a name such as `57: if newest [> → >=] now then`, separated by tabs.
#
# Comments, the arguments of redis.error_reply, and what the group 1 of a PATTERN matches stay as
# they are. It is an error if a PATTERN does not match.
use strict;
use warnings;

my %relation = ('<' => '<=', '<=' => '<', '>' => '>=', '>=' => '>', '==' => '~=', '~=' => '==');
my %arithmetic = ('+' => '-', '-' => '+', '*' => '/', '/' => '*', '%' => '*');
my %logic = (and => 'or', or => 'and', true => 'false', false => 'true', not => '');

my ($file, $folder, @patterns) = @ARGV;
open my $in, '<', $file or die "$file: $!\n";
my $source = do { local $/; <$in> };

my @tokens;    # {text, at, close}: close is the index of the token that closes this bracket
my @fixed;     # of each character, whether it stays
my $made = 0;

sub fix { my ($from, $to) = @_; $fixed[$_] = 1 for $from .. $to - 1 }

sub read_tokens {
  my @open;
  while ($source =~ /\G\s*(--[^\n]*|'[^']*'|"[^"]*"|\d[\d.]*(?:e\d+)?|\w+|[<>=~]=|\.\.|\S)/gc) {
    my ($text, $at) = ($1, $-[1]);
    next if $text =~ /^--/;
    push @tokens, {text => $text, at => $at};
    push @open, $#tokens if $text =~ /^[({[]$/;
    $tokens[pop @open]{close} = $#tokens if $text =~ /^[)}\]]$/;
  }
}

sub text { my ($i) = @_; $i >= 0 && $i < @tokens ? $tokens[$i]{text} : '' }

sub fix_what_stays {
  for my $i (grep { text($_) eq 'error_reply' } 0 .. $#tokens) {
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
  my $path = $folder . '/' . ++$made . '.lua';
  open my $out, '>', $path or die "$path: $!\n";
  print $out $before, $new, $after;
  close $out or die "$path: $!\n";
  my ($first) = $before =~ /([^\n]*)$/;
  my ($last) = $after =~ /^([^\n]*)/;
  my $name = "$first\[$old → " . ($new eq '' ? 'nothing' : $new) . "]$last";
  $name =~ s/ *--.*//;
  $name =~ s/\s+/ /g;
  $name =~ s/^ //;
  print join("\t", $made, $kind, (1 + $before =~ tr/\n//) . ": $name"), "\n";
}

sub replace {
  my ($kind, $i, $new) = @_;
  mutate($kind, $tokens[$i]{at}, $tokens[$i]{at} + length text($i), $new);
}

# A minus without a left operand.
sub is_sign { my ($i) = @_; text($i) eq '-' && text($i - 1) !~ /^(?!and$|or$|not$|return$)[\w)\]]/ }

sub change_token {
  my ($i) = @_;
  my $text = text($i);
  return replace(sign => $i, '') if is_sign($i);
  return replace(relation => $i, $relation{$text}) if exists $relation{$text};
  return replace(arithmetic => $i, $arithmetic{$text}) if exists $arithmetic{$text};
  return replace(logic => $i, $logic{$text}) if exists $logic{$text};
  my ($quote, $number) = $text =~ /^('?)(-?\d[\d.]*(?:e\d+)?)'?$/ or return;
  for my $step (' + 1', ' - 1') {
    replace(constant => $i, $number =~ /e/ ? "($number$step)" : $quote . eval("$number$step") . $quote);
  }
}

# The ends of the items of a list that begins with this token, as offsets: [from, to]…
sub items {
  my ($i, $is_end) = @_;
  my ($from, @items) = $tokens[$i]{at};
  for (; ; ++$i) {
    $i = $tokens[$i]{close} if $tokens[$i]{close};
    my $end = $tokens[$i]{at} + length text($i);
    next unless text($i + 1) eq ',' || $is_end->($i);
    push @items, [$from, $end];
    return @items if $is_end->($i);
    $from = $tokens[$i += 2]{at};
    --$i;
  }
}

# Swaps neighbours in the arguments of a call, in a table, and on the right of an assignment.
sub swap {
  my ($i) = @_;
  my @items;
  if ($tokens[$i]{close} && $tokens[$i]{close} > $i + 1 && text($i) =~ /[({]/) {
    my $close = $tokens[$i]{close};
    @items = items($i + 1, sub { $_[0] == $close - 1 });
    shift @items if text($i - 1) =~ /^p?call$/;    # the command
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

# Removes what is a statement by itself: an assignment, a call or a whole `if` on one line.
sub remove_statements {
  pos($source) = 0;
  while ($source =~ /^( +)((?:if .* then|call\(|[a-z_, ]+(?:\[\w+\])? = |call\().*?)(?: --.*)?$/gm) {
    my ($from, $to, $line) = ($-[2], $+[2], $2);
    next if $line =~ /^local |^for |(?:then|,|and|or|\.\.|-|\+)$/;
    next if $line =~ /^if / && $line !~ / end$/;
    mutate(removal => $from, $to, '');
  }
}

read_tokens();
fix_what_stays();
for my $i (0 .. $#tokens) {
  change_token($i);
  swap($i);
}
remove_statements();
