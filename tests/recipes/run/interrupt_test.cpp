// Tests which thread takes the signals that ask a program to end.
#include "recipes/run/interrupt.h"

#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <thread>

namespace kb::interrupt_test {

namespace {

using kb::Interrupt;

constexpr std::array kSignals{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};

bool blocks(int number) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, number) == 1;
}

void wait_for_a_signal() {
  while (Interrupt::number() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(interrupt)

// oneDNN 2.6 keeps values below the stack pointer, where the frame of a signal of the same thread overwrites them.
BOOST_AUTO_TEST_CASE(threads_that_compute_block_the_signals) {
  {
    const Interrupt interrupt;
    for (const int number : kSignals) {
      BOOST_TEST(blocks(number));
      bool thread_blocks = false;
      std::thread([&] { thread_blocks = blocks(number); }).join();
      BOOST_TEST(thread_blocks);
    }
  }
  for (const int number : kSignals) BOOST_TEST(!blocks(number));
}

BOOST_AUTO_TEST_CASE(the_first_signal_is_kept) {
  for (const int number : kSignals) {
    const Interrupt interrupt;
    Interrupt::remember(/*second_ends=*/false);
    BOOST_TEST(Interrupt::number() == 0);
    ::kill(::getpid(), number);
    wait_for_a_signal();
    ::kill(::getpid(), number == SIGTERM ? SIGINT : SIGTERM);
    BOOST_TEST(Interrupt::number() == number);
  }
}

BOOST_AUTO_TEST_CASE(an_ignored_hang_up_stays_ignored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const Interrupt interrupt;
    Interrupt::remember(/*second_ends=*/true);
    ::kill(::getpid(), SIGHUP);
    ::kill(::getpid(), SIGUSR1);
    wait_for_a_signal();
    BOOST_TEST(Interrupt::number() == SIGUSR1);
  }
  std::signal(SIGHUP, before);
}

// A shell that has no job control ignores SIGINT for what it starts in the background.
BOOST_AUTO_TEST_CASE(an_interrupt_that_is_ignored_is_taken) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const Interrupt interrupt;
    Interrupt::remember(/*second_ends=*/true);
    ::kill(::getpid(), SIGINT);
    wait_for_a_signal();
    BOOST_TEST(Interrupt::number() == SIGINT);
  }
  std::signal(SIGINT, before);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::interrupt_test
